import type { LiveMessage, LiveTool } from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";
import { cleanLine } from "../../screen/text.ts";
import { fitEndTo, fitTo } from "../../screen/width.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import { describeCall } from "../../transcript/describe.ts";
import { linesOf } from "./cards.ts";

const maxLiveOutputRows = 5;

/** What is being thought and run, as it is now. `seconds` says for how long a call has been running. */
export function liveRows(
  state: SessionState | undefined,
  seconds: (tool: LiveTool) => number,
  look: RenderStyle,
): string[] {
  const live = state?.live;
  if (live == null) return [];
  const running = live.tools.filter(({ outcome }) => outcome === null);
  return [
    ...live.messages.flatMap((message) => thoughtRow(message, look)),
    ...running.flatMap((tool) => toolRows(tool, seconds(tool), look)),
  ];
}

/** Whether something is under way whose time is shown. */
export function hasRunningTool(state: SessionState | undefined): boolean {
  return state?.live?.tools.some(({ outcome }) => outcome === null) ?? false;
}

/** The end of a thought that is not at its end yet. */
function thoughtRow({ parts }: LiveMessage, { width, paint }: RenderStyle): string[] {
  const last = parts.at(-1);
  if (last?.kind !== "reasoning" || last.text.trim() === "") return [];
  const line = cleanLine(last.text.slice(-500)).trim();
  return [paint("dim", `✻ ${fitEndTo(line, width - 2)}`)];
}

function toolRows(tool: LiveTool, seconds: number, { width, paint }: RenderStyle): string[] {
  const call = cleanLine(describeCall(tool.name, tool.input));
  const time = ` ${seconds} s`;
  const tail =
    tool.output === "" ? [] : linesOf(tool.output.slice(-8_000)).slice(-maxLiveOutputRows);
  return [
    paint("dim", "╭ ") +
      paint("accent", fitTo(`⚙ ${call}`, Math.max(8, width - 2 - time.length))) +
      paint("dim", time),
    ...tail.map((line) => paint("dim", fitTo(`│ ${line}`, width))),
  ];
}
