// One by one, large: move with arrows, answer with a key.

import { post } from "./api.js";
import { answer, classesOf, element, names, need, onChange, percent, refresh, shownName, store } from "./store.js";
import { pick } from "./picker.js";
import { accuracyText } from "./words.js";

const dialog = document.getElementById("viewer");
const photo = document.getElementById("view-photo"), text = document.getElementById("view-text");
const caption = document.getElementById("view-caption"), why = document.getElementById("view-why");
const group = document.getElementById("view-classes");
let rows = [], at = 0, mode = "browse", answered = 0, closed = () => {};

export const isOpen = () => dialog.open;
export const onClosed = (call) => { closed = call; };

export function view(list, start, how = "browse") {
  rows = list;
  at = Math.max(0, start);
  mode = how;
  answered = 0;
  if (!dialog.open) dialog.showModal();
  show();
}

const row = () => rows[at];

async function show() {
  const own = row();
  if (own === undefined) return;
  if (store.info.kind === "photo") {
    photo.hidden = false;
    text.hidden = true;
    const address = new URL("api/large/" + own, location.href).href;
    if (photo.src !== address) photo.src = address;
    const next = rows[at + 1];
    if (next !== undefined) new Image().src = "api/large/" + next;
  } else {
    photo.hidden = true;
    text.hidden = false;
    fetch("api/text/" + own).then((found) => found.json()).then((found) => {
      if (own === row()) text.textContent = found.text || "(nothing to read)";
    }).catch(() => {});
  }
  await need([own]).catch(() => {});
  if (own === row()) describe();
}

function describe() {
  const item = store.items.get(row());
  if (!item) return;
  photo.alt = item.id + ", labelled " + shownName(item.label);
  caption.replaceChildren(element("b", "", shownName(item.label)));
  const sure = item.reliability === null ? "" : " · " + percent(item.reliability, 1) + " reliable";
  if (item.mine) caption.append(" · ", element("span", "by", "your answer"));
  else caption.append(sure + (item.second ? " · or " + item.second + "?" : ""));
  if (item.mine && item.model !== item.label) caption.append(" · the model said " + shownName(item.model));
  caption.append(" ·\u00a0", element("span", "soft", item.id)); // no dot alone at the end of a line
  const place = at + 1 + " of " + rows.length.toLocaleString("en");
  const reason = {
    browse: "",
    ask: "Answers that help most: ",
    check: "Random sample: ",
  }[mode];
  why.textContent = reason + place + (reason ? ". Press Enter if the label is right, or choose its class" : "") + (mode === "check" ? ". " + accuracyText(store.info.check) : "");
  showClasses(item);
}

// Buttons stay while their names do: one that is replaced under a pressed mouse button,
// because an earlier answer has just been saved, would not be clicked.
let offered = "";
function showClasses(item) {
  const all = names();
  if (JSON.stringify(all) !== offered) offerClasses(all);
  offered = JSON.stringify(all);
  all.forEach((name, number) => group.children[number].setAttribute("aria-pressed", name === item.label));
}

function offerClasses(all) {
  group.replaceChildren();
  all.forEach((name, number) => {
    const made = element("button", "", name);
    made.type = "button";
    if (number < 10) made.prepend(element("kbd", "", String((number + 1) % 10)), " ");
    made.onclick = () => { made.blur(); say(name); }; // or Enter would say it of the next
    group.append(made);
  });
  const other = element("button", "other", "another …");
  other.type = "button";
  other.onclick = async () => { const name = await pick("This is really …"); if (name !== null) say(name); };
  group.append(other);
}

function say(name) {
  const own = row();
  if (own === undefined) return;
  answered += 1;
  answer([own], name);
  if (at + 1 < rows.length) step(1);
  else if (mode === "browse") describe();
  else end();
}

function end() {
  dialog.close();
}

function step(by) {
  at = Math.min(Math.max(at + by, 0), rows.length - 1);
  show();
}

async function undo() {
  const done = await post("undo").catch(() => null);
  if (done?.undone?.op === "label" && answered > 0) { answered -= 1; at = Math.max(0, at - 1); }
  await refresh().catch(() => {});
  show();
}

export function press(key) {
  if (key === "ArrowRight" || key === "ArrowDown") step(1);
  else if (key === "ArrowLeft" || key === "ArrowUp") step(-1);
  else if (key === "n") say("");
  else if (key === "u") undo();
  else if (key === "Enter") { const item = store.items.get(row()); if (item) say(item.label); }
  else if (/^[0-9a-z]$/i.test(key)) {
    const found = classesOf(key);
    if (found.length === 1) say(found[0]);
    else if (found.length > 1) pick("This is really …", { start: key }).then((name) => { if (name !== null) say(name); });
    else return false;
  } else return false;
  return true;
}

document.getElementById("view-back").onclick = () => step(-1);
document.getElementById("view-next").onclick = () => step(1);
document.getElementById("view-none").onclick = () => say("");
document.getElementById("view-undo").onclick = undo;
document.getElementById("view-close").onclick = () => dialog.close();
dialog.addEventListener("close", () => closed(row(), mode, answered));
onChange(() => { if (dialog.open) need([row()]).then(describe).catch(() => {}); });
