// Sentences that more than one place shows.

import { percent, shownName, counted } from "./store.js";

export function accuracyText(check) {
  if (!check.checked) return "Unchecked: it is not known yet how many of these labels are right.";
  if (check.share === 1) return "No mistake so far: at least " + percent(check.low) + " of all labels are right (90 % interval), by " + check.checked + " checked.";
  return "About " + percent(check.share) + " of all labels are right (90 % interval " +
    percent(check.low) + " to " + percent(check.high) + "), by " + check.checked + " checked.";
}

export function lineText(check) {
  if (check.line) return check.line.text;
  const left = check.drawn - check.checked;
  return left > 0 && check.checked ? "Which labels are sure is known after " + answersText(left) + " more." : "";
}

export function learnedText(last, n) {
  const changed = last.changed === 1 ? "1 label" : last.changed.toLocaleString("en") + " labels";
  return "Learned from " + answersText(last.given) + " in " + last.seconds.toFixed(1) + " s: " +
    changed + " of " + counted(n) + " changed (" + (100 * last.changed / n).toFixed(1) + " %).";
}

export function movesText(moves, most = 4) {
  const shown = moves.slice(0, most).map((one) => shownName(one.old) + " → " + shownName(one.new) + " " + one.n);
  if (moves.length > most) shown.push("and " + (moves.length - most) + " more kinds of change");
  return shown.join(", ");
}

export const answersText = (n) => n.toLocaleString("en") + (n === 1 ? " answer" : " answers");
