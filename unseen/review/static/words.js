// Sentences that more than one place shows.

import { percent, shownName, things } from "./store.js";

export function accuracyText(check) {
  if (!check.checked) return "Nothing is checked yet.";
  return "About " + percent(check.share) + " of all labels are right (90 % interval " +
    percent(check.low) + " to " + percent(check.high) + "), by " + check.checked + " checked.";
}

export function lessonText(lesson, n) {
  const changed = lesson.changed === 1 ? "1 label" : lesson.changed.toLocaleString("en") + " labels";
  return "Learned from " + answersText(lesson.given) + " in " + lesson.seconds.toFixed(1) + " s: " +
    changed + " of " + things(n) + " changed (" + (100 * lesson.changed / n).toFixed(1) + " %).";
}

export function movesText(moves, most = 4) {
  const shown = moves.slice(0, most).map((one) => shownName(one.old) + " → " + shownName(one.new) + " " + one.n);
  if (moves.length > most) shown.push("and " + (moves.length - most) + " more kinds");
  return shown.join(", ");
}

export const answersText = (n) => n.toLocaleString("en") + (n === 1 ? " answer" : " answers");
