// Talks to the server. Answers wait in a line until the server has them on its disk.

function newTab() {
  const known = sessionStorage.getItem("tab") || crypto.randomUUID();
  sessionStorage.setItem("tab", known);
  return known;
}

export const tab = newTab();
export const uid = () => crypto.randomUUID();

export class Refused extends Error {}

async function read(answer) {
  const reply = await answer.json().catch(() => ({ reason: "The server's answer cannot be understood." }));
  if (answer.status >= 400 && answer.status < 500) throw new Refused(reply.reason);
  if (!answer.ok) throw new Error(reply.reason || answer.statusText);
  return reply;
}

export async function get(path, asked = {}) {
  const query = new URLSearchParams(asked).toString();
  return read(await fetch("api/" + path + (query ? "?" + query : "")));
}

export async function post(path, body = {}) {
  return read(await fetch("api/" + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tab, uid: uid(), ...body }),
  }));
}

const AGAIN = 1000; // milliseconds until a failed answer is sent again
const line = [];
let sending = false;
let report = () => {};

// `report(state, n, reason)`: "saving", "saved", "waiting" (n answers) or "refused".
export function onSaving(call) { report = call; }

export function save(entry) {
  return new Promise((done) => {
    line.push({ entry: { ...entry, uid: uid() }, done });
    report("saving", line.length);
    if (!sending) send();
  });
}

async function send() {
  sending = true;
  while (line.length) {
    const batch = line.slice(0, 50);
    try {
      const reply = await post("answers", { entries: batch.map((one) => one.entry) });
      line.splice(0, batch.length);
      batch.forEach((one) => one.done(reply.seq));
    } catch (error) {
      if (error instanceof Refused) {
        line.splice(0, batch.length);
        batch.forEach((one) => one.done(null));
        report("refused", line.length, error.message);
        continue;
      }
      report("waiting", line.length, error.message);
      await new Promise((go) => setTimeout(go, AGAIN));
      continue;
    }
    if (!line.length) report("saved", 0);
  }
  sending = false;
}

window.addEventListener("beforeunload", (event) => {
  if (line.length) event.preventDefault();
});
