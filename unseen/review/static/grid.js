// Everything by class. Only what is in view is in the document, so thousands scroll freely.

import { answer, element, need, onChange, percent, shownName, store, counted } from "./store.js";
import { pick } from "./picker.js";

const main = document.getElementById("grid");
const tall = element("div", "tall");
main.append(tall);
const HEAD = 44, TOLD = 20, AHEAD = 600; // pixels
const DOUBTFUL = 0.8;

let layout = { columns: 1, tile: 116, gap: 8, left: 16, parts: [], height: 0 };
const tiles = new Map(); // row to its element
const heads = new Map(); // name of a class to its element
export const chosen = new Set();
let current = null; // row that has the focus, and where it was
let place = { name: "", at: 0 }; // in which class, and where there
let open = () => {};
let chosenChanged = () => {};
export const onOpen = (call) => { open = call; };
export const onChosen = (call) => { chosenChanged = call; };

const length = (name) => parseFloat(getComputedStyle(document.documentElement).getPropertyValue(name));

function lay() {
  const gap = length("--gap"), wide = length("--tile");
  const left = main.clientWidth < 700 ? 11 : 16;
  const width = main.clientWidth - 2 * left + gap;
  const columns = Math.max(1, Math.floor(width / (wide + gap)));
  const tile = Math.floor(width / columns - gap);
  let top = 0;
  const parts = store.parts.map((part) => {
    const lines = Math.max(1, Math.ceil(part.rows.length / columns));
    const one = { ...part, top, first: top + HEAD, lines };
    top += HEAD + lines * (tile + TOLD + gap) + 8;
    return one;
  });
  layout = { columns, tile, gap, left, parts, height: top + 90, line: tile + TOLD + gap };
  tall.style.height = layout.height + "px";
}

export function draw() {
  const from = main.scrollTop - AHEAD, to = main.scrollTop + main.clientHeight + AHEAD;
  const wanted = new Map(), wantedHeads = new Set();
  layout.parts.forEach((part, p) => {
    const bottom = part.first + part.lines * layout.line;
    if (bottom < from || part.top > to) return;
    wantedHeads.add(headOf(part));
    drawHead(part);
    const start = Math.max(0, Math.floor((from - part.first) / layout.line)) * layout.columns;
    const end = Math.min(part.rows.length, Math.ceil((to - part.first) / layout.line) * layout.columns);
    for (let at = start; at < end; at++) wanted.set(part.rows[at], { part: p, at });
  });
  const kept = tiles.has(current) && find(current); // out of view, it keeps the focus
  if (kept) wanted.set(current, kept);
  for (const [name, made] of heads) if (!wantedHeads.has(name)) { made.remove(); heads.delete(name); }
  for (const [row, made] of tiles) if (!wanted.has(row)) { made.remove(); tiles.delete(row); }
  const rows = [...wanted.keys()];
  for (const [row, where] of wanted) put(row, where);
  const missing = rows.filter((row) => !store.items.has(row));
  if (missing.length) need(missing).then(() => missing.forEach(fill)).catch(() => {});
  keepOneInReach();
}

// A class has two parts, above and below the sure line, where there is one.
const headOf = (part) => JSON.stringify([part.name, part.sure]);

function drawHead(part) {
  let made = heads.get(headOf(part));
  if (!made) {
    made = element("div", "head");
    made.append(element("h2"), element("span", "soft"), element("button", "", "Relabel all …"));
    made.lastChild.type = "button";
    made.lastChild.onclick = () => wholeRow(made.own);
    tall.append(made);
    heads.set(headOf(part), made);
  }
  made.own = part;
  made.style.top = part.top + "px";
  made.children[0].textContent = shownName(part.name);
  const n = part.rows.length ? counted(part.rows.length) : "nothing here";
  made.children[1].textContent = { true: "sure · ", false: "look · " }[part.sure] || "";
  made.children[1].append(n);
  made.classList.toggle("sure", part.sure === true);
  made.classList.toggle("look", part.sure === false);
  made.lastChild.hidden = !part.rows.length;
  made.lastChild.setAttribute("aria-label", "Relabel all of " + shownName(part.name));
}

async function wholeRow(part) {
  const name = await pick("All " + counted(part.rows.length) + " of “" + shownName(part.name) + "” shown here are really …");
  if (name !== null) await answer(part.rows, name);
}

function newTile(row) {
  const made = element("button", "tile"), face = element("span", "face");
  made.type = "button";
  made.tabIndex = -1;
  made.draggable = true;
  made.row = row;
  if (store.info.kind === "photo") {
    const image = element("img");
    image.decoding = "async";
    image.draggable = false;
    image.alt = "";
    image.onerror = () => made.classList.add("broken");
    image.src = "api/small/" + row;
    face.append(image);
  } else {
    face.append(element("p"));
  }
  made.append(face, element("span", "caption"));
  tall.append(made);
  tiles.set(row, made);
  return made;
}

function put(row, where) {
  const made = tiles.get(row) || newTile(row);
  const part = layout.parts[where.part], column = where.at % layout.columns;
  made.style.left = layout.left + column * (layout.tile + layout.gap) + "px";
  made.style.top = part.first + Math.floor(where.at / layout.columns) * layout.line + "px";
  made.style.width = layout.tile + "px";
  made.style.height = layout.tile + TOLD + "px";
  fill(row);
}

function fill(row) {
  const made = tiles.get(row), item = store.items.get(row);
  if (!made) return;
  made.setAttribute("aria-pressed", chosen.has(row));
  if (!item) return;
  const doubtful = !item.mine && item.reliability !== null && item.reliability < DOUBTFUL;
  made.classList.toggle("mine", item.mine);
  made.classList.toggle("doubtful", doubtful);
  let caption = item.reliability === null ? "" : percent(item.reliability, 1);
  if (doubtful && item.second) caption += " or " + item.second + "?";
  if (item.sure === "yes" && !item.mine) caption = "sure · " + caption;
  if (item.mine) caption = "yours";
  made.lastChild.textContent = caption;
  made.title = item.id;
  made.setAttribute("aria-label", item.id + ", " + shownName(item.label) + (caption ? ", " + caption : ""));
  const text = made.querySelector("p");
  if (text) text.textContent = item.text || item.id;
}

// ---- where a row is, and moving the focus -------------------------------------------

function find(row) {
  for (let part = 0; part < layout.parts.length; part++) {
    const at = layout.parts[part].rows.indexOf(row);
    if (at >= 0) return { part, at };
  }
  return null;
}

const placeOf = (where) => ({ name: layout.parts[where.part].name, at: where.at });
export const allRows = () => store.parts.flatMap((part) => part.rows);

function keepOneInReach() {
  const made = tiles.get(current) || tall.querySelector(".tile");
  if (made && made.tabIndex < 0) {
    for (const other of tiles.values()) other.tabIndex = -1;
    made.tabIndex = 0;
  }
}

export function focusOn(row, scroll = true) {
  const where = find(row);
  if (!where) return;
  current = row;
  place = placeOf(where);
  if (scroll) {
    const top = layout.parts[where.part].first + Math.floor(where.at / layout.columns) * layout.line;
    const high = where.at < layout.columns ? top - HEAD : top;
    if (high < main.scrollTop) main.scrollTop = high;
    else if (top + layout.line > main.scrollTop + main.clientHeight) main.scrollTop = top + layout.line - main.clientHeight;
  }
  draw();
  for (const other of tiles.values()) other.tabIndex = -1;
  const made = tiles.get(row);
  made.tabIndex = 0;
  made.focus({ preventScroll: true });
}

function after(where, key) {
  const { part, at } = where, own = layout.parts[part], columns = layout.columns;
  const next = (from, step) => {
    let other = from + step;
    while (layout.parts[other] && !layout.parts[other].rows.length) other += step;
    return layout.parts[other] ? other : null;
  };
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const step = key === "ArrowRight" ? 1 : -1;
    if (own.rows[at + step] !== undefined) return own.rows[at + step];
    const other = next(part, step);
    return other === null ? null : layout.parts[other].rows.at(step > 0 ? 0 : -1);
  }
  if (key === "Home") return own.rows[0];
  if (key === "End") return own.rows.at(-1);
  const column = at % columns;
  if (key === "ArrowDown") {
    if (at + columns < own.rows.length) return own.rows[at + columns];
    if (at - column + columns < own.rows.length) return own.rows.at(-1);
    const other = next(part, 1);
    return other === null ? null : layout.parts[other].rows[Math.min(column, layout.parts[other].rows.length - 1)];
  }
  if (at - columns >= 0) return own.rows[at - columns];
  const other = next(part, -1);
  if (other === null) return null;
  const rows = layout.parts[other].rows, start = Math.floor((rows.length - 1) / columns) * columns;
  return rows[Math.min(start + column, rows.length - 1)];
}

export function move(key) {
  const where = current === null ? null : find(current);
  const row = where ? after(where, key) : allRows()[0];
  if (row !== null && row !== undefined) focusOn(row);
}

export const currentRow = () => (current !== null && find(current) ? current : null);
export const hasFocus = () => main.contains(document.activeElement) || document.activeElement === document.body;
// What an answer is about: what is selected, or else what has the focus.
export const about = () => (chosen.size ? [...chosen] : currentRow() === null ? [] : [current]);

// ---- selecting -----------------------------------------------------------------------

let last = null;
export function choose(row, upTo = false) {
  if (upTo && last !== null) {
    const all = allRows(), a = all.indexOf(last), b = all.indexOf(row);
    if (a >= 0) for (const one of all.slice(Math.min(a, b), Math.max(a, b) + 1)) chosen.add(one);
  } else if (chosen.has(row)) chosen.delete(row);
  else chosen.add(row);
  last = row;
  tiles.forEach((_, one) => fill(one));
  chosenChanged();
}

export function dropChosen() {
  chosen.clear();
  last = null;
  tiles.forEach((_, one) => fill(one));
  chosenChanged();
}

const CORNER = 36; // pixels of a tile's corner that select
tall.addEventListener("click", (event) => {
  const made = event.target.closest(".tile");
  if (!made) return;
  const box = made.getBoundingClientRect();
  const corner = event.detail > 0 && box.right - event.clientX < CORNER && event.clientY - box.top < CORNER;
  current = made.row;
  if (event.shiftKey || event.ctrlKey || event.metaKey || corner || (chosen.size && event.detail > 0)) choose(made.row, event.shiftKey);
  else open(made.row);
});
tall.addEventListener("focusin", (event) => {
  const made = event.target.closest(".tile");
  const where = made && find(made.row);
  if (where) { current = made.row; place = placeOf(where); }
});

// ---- dragging between classes --------------------------------------------------------

let dragged = [];
tall.addEventListener("dragstart", (event) => {
  const made = event.target.closest(".tile");
  if (!made) return;
  dragged = chosen.has(made.row) ? [...chosen] : [made.row];
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", counted(dragged.length));
});
tall.addEventListener("dragend", () => { dragged = []; mark(null); });
const mark = (name) => heads.forEach((made) => made.classList.toggle("over-head", made.own.name === name));
const partAt = (event) => {
  const y = event.clientY - main.getBoundingClientRect().top + main.scrollTop;
  return layout.parts.findLast((part) => part.top <= y);
};
main.addEventListener("dragover", (event) => {
  if (!dragged.length) return;
  event.preventDefault();
  mark(partAt(event)?.name);
});
main.addEventListener("drop", (event) => { event.preventDefault(); drop(partAt(event)?.name); });
export function drop(name) {
  const rows = dragged;
  dragged = [];
  mark(null);
  if (!rows.length || name === undefined) return;
  dropChosen();
  answer(rows, name);
}
export const isDragging = () => dragged.length > 0;

// ---- keeping up ----------------------------------------------------------------------

onChange(() => {
  const had = main.contains(document.activeElement) && document.activeElement !== main;
  lay();
  const known = new Set(allRows());
  for (const row of chosen) if (!known.has(row)) chosen.delete(row);
  draw();
  const where = current === null ? null : find(current);
  if (had && (!where || placeOf(where).name !== place.name)) {
    const part = layout.parts.find((one) => one.name === place.name && one.rows.length);
    const row = part ? part.rows[Math.min(place.at, part.rows.length - 1)] : allRows()[0];
    if (row !== undefined) focusOn(row, false);
  }
  main.dataset.seq = store.info.seq; // how much of the journal is shown
  chosenChanged();
});

let waiting = false;
main.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}, { passive: true });
new ResizeObserver(() => { lay(); draw(); }).observe(main);
