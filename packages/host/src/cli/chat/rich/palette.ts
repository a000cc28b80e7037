import { findCommand, commandUsage } from "@holdfast/protocol";
import { completeInput } from "@holdfast/client";
import { fitTo, padTo } from "../../screen/width.ts";
import { type RenderStyle } from "../../screen/markdown.ts";

const maxCommandsShown = 6;

/** The commands that a line may become, while it is typed. */
export function commandHintRows(text: string, { width, paint }: RenderStyle): string[] {
  const names = completeInput(text).values.filter((value) => !value.includes(" "));
  const [, typed] = /^\/(\w+)\s/.exec(text) ?? [];
  const fitting = (typed === undefined ? names.map((name) => name.slice(1)) : [typed]).flatMap(
    (name) => findCommand(name) ?? [],
  );
  const widest = Math.max(0, ...fitting.map((command) => commandUsage(command).length));
  const rows = fitting
    .slice(0, maxCommandsShown)
    .map((command) => fitTo(`  ${padTo(commandUsage(command), widest)}  ${command.help}`, width));
  const hidden = fitting.length - rows.length;
  return [...rows, ...(hidden > 0 ? [`  … ${hidden} more, Tab completes`] : [])].map((row) =>
    paint("dim", row),
  );
}
