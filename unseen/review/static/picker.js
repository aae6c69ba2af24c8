// Ask for a class: choose one by typing, or name a new one.

import { element, names } from "./store.js";

const dialog = document.getElementById("picker"), form = document.getElementById("picker-form");
const input = document.getElementById("picker-name"), list = document.getElementById("picker-list");
const title = document.getElementById("picker-title"), ok = document.getElementById("picker-ok");
let done = null, offered = [], free = false;

function matches() {
  const typed = input.value.trim().toLowerCase();
  const starts = names().filter((name) => name.toLowerCase().startsWith(typed));
  const inside = names().filter((name) => !starts.includes(name) && name.toLowerCase().includes(typed));
  return [...starts, ...inside];
}

function show() {
  const typed = input.value.trim();
  offered = free ? [] : matches();
  list.replaceChildren();
  offered.slice(0, 200).forEach((name, number) => {
    const line = element("li"), button = element("button", number ? "" : "best", name);
    button.type = "button";
    button.onclick = () => finish(name);
    line.append(button);
    list.append(line);
  });
  const isNew = typed && !names().includes(typed);
  if (isNew && !free) {
    const line = element("li"), button = element("button", offered.length ? "" : "best", "Add the class “" + typed + "”");
    button.type = "button";
    button.className += " new";
    button.onclick = () => finish(typed);
    line.append(button);
    list.append(line);
  }
  ok.disabled = free ? !typed : !offered.length && !typed;
}

function finish(name) {
  const tell = done;
  done = null;
  dialog.close();
  if (tell) tell(name);
}

input.addEventListener("input", show);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = input.value.trim();
  const name = free || names().includes(typed) || !offered.length ? typed : offered[0];
  if (name) finish(name);
});
document.getElementById("picker-stop").onclick = () => finish(null);
dialog.addEventListener("cancel", () => finish(null));

// Resolves to a name, or null. `any`: only type a name, nothing is offered.
export function pick(what, { start = "", any = false } = {}) {
  free = any;
  title.textContent = what;
  input.value = start;
  ok.textContent = any ? "Save" : "Choose";
  show();
  dialog.showModal();
  input.focus();
  if (any) input.select();
  return new Promise((tell) => { done = tell; });
}
