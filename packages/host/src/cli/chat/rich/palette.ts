import { commandNamed, usageOf } from "@holdfast/protocol";
import { completeTyped } from "@holdfast/client";
import { fitTo, padTo } from "../../screen/width.ts";
import { type Look } from "../../screen/markdown.ts";

const mostShown = 6;

/** The commands that a line may become, while it is typed. */
export function paletteRows(text: string, { width, paint }: Look): string[] {
  const names = completeTyped(text).values.filter((value) => !value.includes(" "));
  const [, typed] = /^\/(\w+)\s/.exec(text) ?? [];
  const fitting = (typed === undefined ? names.map((name) => name.slice(1)) : [typed]).flatMap(
    (name) => commandNamed(name) ?? [],
  );
  const widest = Math.max(0, ...fitting.map((command) => usageOf(command).length));
  const rows = fitting
    .slice(0, mostShown)
    .map((command) => fitTo(`  ${padTo(usageOf(command), widest)}  ${command.help}`, width));
  const hidden = fitting.length - rows.length;
  return [...rows, ...(hidden > 0 ? [`  … ${hidden} more, Tab completes`] : [])].map((row) =>
    paint("dim", row),
  );
}
