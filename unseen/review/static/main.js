// The page: its bar, its classes, its keys.

import { get, onSaving, post, save } from "./api.js";
import { answer, classesOf, element, onChange, refresh, shownName, store, counted } from "./store.js";
import * as grid from "./grid.js";
import { pick } from "./picker.js";
import * as viewer from "./viewer.js";
import { accuracyText, answersText, learnedText, lineText, movesText } from "./words.js";

const by = (name) => document.getElementById(name);
const ASK = 10, CHECK = 40; // how many at a time
const CALM = 1500, BUSY = 200; // milliseconds between questions to the server

// ---- saved, and trouble --------------------------------------------------------------

const saved = by("saved"), trouble = by("trouble");
onSaving((state, n, reason) => {
  saved.className = { saving: "waiting", waiting: "failed", refused: "failed" }[state] || "";
  saved.textContent = { saving: "saving …", saved: "saved ✓", waiting: "not saved", refused: "not saved" }[state];
  complain(state === "waiting" ? "The server does not accept answers: " + answersText(n) + " wait here. Is unseen review still running?"
    : state === "refused" ? reason : "");
});
function complain(text) {
  trouble.hidden = !text;
  trouble.textContent = text;
}
const failed = (error) => complain(error.message);

// ---- the bar -------------------------------------------------------------------------

// The choice may take seconds where there are many rows: the button says so, and is not pressed twice.
async function choose(name, n, nothing) {
  const pressed = by(name === "suggest" ? "ask" : "check"), called = pressed.textContent;
  if (pressed.ariaBusy === "true") return;
  pressed.ariaBusy = "true";
  pressed.textContent = "Looking …";
  try {
    const { rows } = await post(name, { n, wanted: Number(by("wanted").value) });
    if (rows.length) viewer.view(rows, 0, pressed.id);
    else complain(nothing);
  } catch (error) {
    failed(error);
  } finally {
    pressed.textContent = called;
    pressed.ariaBusy = "false";
  }
}
by("ask").onclick = () => choose("suggest", ASK, "There is nothing left to ask: everything has your answer.");
by("check").onclick = () => choose("check", CHECK, "There is nothing left to check: everything has your answer.");
by("undo").onclick = undo;
async function undo() {
  const reply = await post("undo").catch(failed);
  if (reply && !reply.undone) complain("There is nothing to undo in this tab.");
  else complain("");
  await refresh().catch(failed);
}
by("help").onclick = () => by("helper").showModal();
by("helper-close").onclick = () => by("helper").close();

viewer.onClosed((row, mode, answered) => {
  if (row !== undefined) grid.focusOn(row);
  if (mode !== "browse") refresh().catch(failed);
  if (mode === "ask" && answered) note(answersText(answered) + " more. Teach lets the model learn from them.");
  if (mode === "check" && answered) noteCheck();
});
grid.onOpen((row) => { const rows = grid.allRows(); viewer.view(rows, rows.indexOf(row)); });

// ---- learning ------------------------------------------------------------------------

const learned = by("learned");
let awaited = false;
let checking = false; // what the check says may change until its last answer is saved
function noteCheck() {
  const check = store.info.check;
  note(["Checked.", accuracyText(check), lineText(check)].join(" "));
  checking = true;
}
function note(text, ...more) {
  checking = false;
  learned.hidden = !text;
  learned.replaceChildren(element("span", "", text), ...more);
}
by("teach").onclick = () => post("teach").then(() => {
  awaited = true;
  complain("");
  note("Learning from " + answersText(store.info.given) + " …");
  poll(BUSY);
}).catch(failed);

function button(text, act, name) {
  const made = element("button", "", text);
  made.type = "button";
  made.id = name;
  made.onclick = act;
  return made;
}

function showLearned(last) {
  awaited = false;
  if (last.state === "failed") { note(""); complain("Nothing was learned: " + last.reason); return; }
  const show = button("Show what changed", () => { by("which").value = "changed"; filter(); }, "learned-show");
  const back = button("Undo this", () => save({ op: "undo", of: last.seq }).then(() => {
    note("The model's changes are undone. Your answers stay.");
    return refresh();
  }), "learned-undo");
  note(learnedText(last, store.info.n), element("span", "moves", movesText(last.moves)), show, back);
}

// Ask now and then: another tab may have answered, the model may have learned.
let timer = 0;
function poll(wait) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    try {
      const info = await get("state");
      const moved = !store.info || info.seq !== store.info.seq;
      const other = ["hindrance", "trouble", "carried"].some((key) => info[key] !== store.info[key]);
      if (moved) await refresh();
      else if (other) { store.info = info; showBar(); }
      if (awaited && info.learning.state !== "running") showLearned(info.learning);
      if (saved.textContent === "server gone") { saved.textContent = ""; complain(""); }
    } catch {
      if (saved.textContent !== "not saved") {
        saved.className = "failed";
        saved.textContent = "server gone";
        complain("The server does not answer. Every answer that was shown as saved is on disk. Start unseen review again.");
      }
    }
    poll(awaited ? BUSY : CALM);
  }, wait);
}

// ---- classes and filters -------------------------------------------------------------

const list = by("classes");
function classLine(one, number) {
  const line = element("li"), choose = element("button", "pick");
  choose.type = "button";
  choose.title = shownName(one.name);
  if (number !== null && number < 10) choose.append(element("kbd", "", String((number + 1) % 10)));
  choose.append(element("span", "name", shownName(one.name)), element("span", "size"));
  choose.onclick = () => { store.filters.label = store.filters.label === one.name ? null : one.name; refresh().catch(failed); };
  line.append(choose);
  if (one.name) {
    const edit = element("button", "edit", "✎");
    edit.type = "button";
    edit.title = "Rename";
    edit.setAttribute("aria-label", "Rename " + one.name);
    edit.onclick = () => rename(one.name);
    line.append(edit);
  }
  line.addEventListener("dragover", (event) => { if (grid.isDragging()) { event.preventDefault(); line.classList.add("over"); } });
  line.addEventListener("dragleave", () => line.classList.remove("over"));
  line.addEventListener("drop", (event) => { event.preventDefault(); line.classList.remove("over"); grid.drop(one.name); });
  return line;
}

async function rename(old) {
  const name = await pick("Call “" + old + "” …", { start: old, any: true });
  if (name === null || name === old) return;
  if (store.filters.label === old) store.filters.label = name;
  await save({ op: "rename", old, new: name });
  await refresh().catch(failed);
}
by("add").onclick = async () => {
  const name = await pick("A new class is called …", { any: true });
  if (name === null) return;
  await save({ op: "class", name });
  await refresh().catch(failed);
};

function filter() {
  for (const name of ["order", "trust", "which"]) store.filters[name] = by(name).value;
  by("grid").scrollTop = 0;
  refresh().catch(failed);
}
for (const name of ["order", "trust", "which"]) by(name).onchange = filter;
by("filters").onsubmit = (event) => event.preventDefault();

function showBar() {
  const info = store.info;
  document.title = info.title + " · review";
  by("title").textContent = info.title;
  by("progress").textContent = counted(info.n) + ", " + answersText(info.given) + ", " + info.changed.toLocaleString("en") + " changed";
  by("teach").disabled = Boolean(info.hindrance);
  by("teach").title = info.hindrance || "Let the model learn from your answers";
  by("disk").hidden = !info.trouble;
  by("disk").textContent = info.trouble;
  showNotices(info);
  showClasses(info);
  showAccuracy(info);
}

// What people should know at the start, such as answers of an earlier table.
function showNotices(info) {
  const place = by("notices");
  if (!place) return;
  place.hidden = !info.notices.length;
  if (place.hidden || place.childElementCount) return;
  place.append(...info.notices.map((text) => element("span", "", text)));
  const hide = () => { place.remove(); };
  if (info.carried) {
    place.append(button("Take over " + answersText(info.carried), () => post("carry").then(refresh).then(hide).catch(failed), "carry"));
  }
  place.append(button("Hide this", hide, "notices-hide"));
}

// Lines stay while their names do: one that is replaced under a pressed mouse button
// would not be clicked.
let listed = "";
function showClasses(info) {
  const all = info.none ? [...info.classes, { name: "", size: info.none }] : info.classes;
  const names = JSON.stringify(all.map((one) => one.name));
  if (names !== listed) {
    const at = [...list.querySelectorAll("button")].indexOf(document.activeElement);
    list.replaceChildren(...all.map((one, number) => classLine(one, one.name ? number : null)));
    if (at >= 0) list.querySelectorAll("button")[at]?.focus();
  }
  listed = names;
  all.forEach((one, number) => {
    const choose = list.children[number].querySelector(".pick");
    choose.setAttribute("aria-pressed", store.filters.label === one.name);
    choose.querySelector(".size").textContent = one.size.toLocaleString("en");
  });
}

function showAccuracy(info) {
  const place = by("accuracy"), check = info.check;
  place.replaceChildren(element("p", "", accuracyText(check)));
  by("wanted").disabled = check.drawn > 0;
  if (check.line) by("wanted").value = String(Math.round(100 * check.line.wanted));
  if (check.checked) {
    const scale = element("div", "scale"), span = element("i"), mark = element("b");
    span.style.left = 100 * check.low + "%";
    span.style.right = 100 * (1 - check.high) + "%";
    mark.style.left = "calc(" + 100 * check.share + "% - 1px)";
    scale.append(span, mark);
    place.append(scale);
  }
  if (checking) noteCheck();
  const line = lineText(check);
  if (line) place.append(element("p", check.line?.n ? "line" : "", line));
  if (check.reliability !== "unchecked") place.append(element("p", "", "Reliability has learned from " + check.reliability.replace(" ", " that were ") + "."));
  if (info.hindrance) place.append(element("p", "", "Teach: " + info.hindrance));
}
onChange(showBar);

// ---- what is selected ----------------------------------------------------------------

const bar = by("chosen");
grid.onChosen(() => {
  bar.hidden = !grid.chosen.size;
  by("chosen-n").textContent = counted(grid.chosen.size);
});
function sayAll(name) {
  const rows = grid.about();
  if (!grid.chosen.size) grid.move("ArrowRight"); // the answered one goes elsewhere
  grid.dropChosen();
  if (rows.length) answer(rows, name).catch(failed);
}
by("chosen-are").onclick = async () => { const name = await pick("These " + counted(grid.chosen.size) + " are really …"); if (name !== null) sayAll(name); };
by("chosen-none").onclick = () => sayAll("");
by("chosen-drop").onclick = () => grid.dropChosen();
by("chosen-right").onclick = () => {
  const own = new Map();
  for (const row of grid.about()) {
    const part = store.parts.find((one) => one.rows.includes(row));
    if (part) own.set(part.name, [...(own.get(part.name) || []), row]);
  }
  grid.dropChosen();
  for (const [name, rows] of own) answer(rows, name);
};

// ---- keys ----------------------------------------------------------------------------

const MOVES = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"];
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  if (typing || by("picker").open || by("helper").open) return;
  const key = event.key;
  if (key === "?") { by("helper").showModal(); event.preventDefault(); return; }
  if (viewer.isOpen()) {
    const pressing = key === "Enter" && event.target.closest("button");
    if (!pressing && viewer.press(key)) event.preventDefault();
    return;
  }
  if (key === "u") { undo(); return; }
  if (key === "Escape") { grid.dropChosen(); return; }
  if (!grid.hasFocus()) return;
  if (MOVES.includes(key)) { grid.move(key); event.preventDefault(); return; }
  if (key === " " && grid.currentRow() !== null) { grid.choose(grid.currentRow(), event.shiftKey); event.preventDefault(); return; }
  if (key === "n") { sayAll(""); return; }
  if (/^[0-9a-z]$/i.test(key) && grid.about().length) {
    const found = classesOf(key);
    if (found.length === 1) sayAll(found[0]);
    else if (found.length > 1) {
      event.preventDefault();
      pick("This is really …", { start: key }).then((name) => { if (name !== null) sayAll(name); });
    }
  }
});

if (window.matchMedia("(max-width: 46rem)").matches) by("side").open = false;
refresh().then(() => poll(CALM)).catch(failed);
