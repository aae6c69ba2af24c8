// What the page knows: classes and counts, the order of rows, and what is known of each.

import { get, save } from "./api.js";

export const store = {
  info: null, // of /api/state
  parts: [], // of /api/index: {name, rows}
  items: new Map(), // row to what /api/items tells
  filters: { order: "doubt", trust: "0-1", which: "", label: null },
};

const listeners = [];
export const onChange = (call) => listeners.push(call);
const changed = () => listeners.forEach((call) => call());

let round = 0;
let shown = ""; // what the rows in `parts` were asked by, and after how many answers

// The index of rows may be long: it is fetched only when it can have changed.
export async function refresh() {
  const own = ++round;
  const { order, trust, which, label } = store.filters;
  const [least, most] = trust.split("-");
  const asked = { order, least, most };
  if (which) asked[which] = "1";
  if (label !== null) asked.label = label;
  const info = await get("state");
  const wanted = JSON.stringify([asked, info.seq]);
  const index = wanted === shown ? null : await get("index", asked);
  if (own !== round) return; // a later one is on its way
  store.info = info;
  if (index) {
    store.parts = index.parts;
    store.items.clear();
    shown = wanted;
  }
  changed();
}

let soon = 0;
export function refreshSoon() {
  clearTimeout(soon);
  soon = setTimeout(() => refresh().catch(() => {}), 120);
}

// Fetch what is not known of rows; resolves when it is.
const asking = new Map();
export async function need(rows) {
  const missing = rows.filter((row) => !store.items.has(row) && !asking.has(row));
  const jobs = [];
  for (let start = 0; start < missing.length; start += 200) {
    const part = missing.slice(start, start + 200);
    const known = store.items;
    const job = get("items", { rows: part.join(",") }).then((reply) => {
      for (const item of reply.items) if (!known.has(item.row)) known.set(item.row, item);
    }).finally(() => part.forEach((row) => asking.delete(row)));
    part.forEach((row) => asking.set(row, job));
    jobs.push(job);
  }
  await Promise.all([...jobs, ...rows.map((row) => asking.get(row)).filter(Boolean)]);
}

// Say that rows are of a class ("" for none of these).
export function answer(rows, label) {
  for (const row of rows) {
    const item = store.items.get(row);
    if (item) store.items.set(row, { ...item, label, mine: true });
  }
  return save({ op: "label", rows, label }).then(refreshSoon);
}

export const names = () => (store.info ? store.info.classes.map((one) => one.name) : []);
export const shownName = (name) => name || "none of these";

// The class a key stands for: digits by place, letters by the start of the name.
export function classesOf(key) {
  const all = names();
  if (/^[0-9]$/.test(key)) {
    const found = all[key === "0" ? 9 : Number(key) - 1];
    return found === undefined ? [] : [found];
  }
  return all.filter((name) => name.toLowerCase().startsWith(key.toLowerCase()));
}

export const counted = (n) => n.toLocaleString("en") + " " + (store.info?.kind || "row") + (n === 1 ? "" : "s");
// Never 0 or 100 % of what is only likely: as many digits as tell it from these.
export function percent(share, least = 0) {
  const end = Math.min(share, 1 - share);
  const digits = end > 0 && end < 0.05 ? Math.max(least, Math.min(4, Math.ceil(-Math.log10(end)) - 1)) : least;
  const most = share < 1 ? 100 - 10 ** -digits : 100; // nothing is rounded up to certain
  return Math.min(100 * share, most).toFixed(digits) + " %";
}

export function element(kind, name, text) {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}
