import type { ProcessView } from "@holdfast/protocol";
import { type CommandAnswer, refuseCommand, refusalFrom } from "./answers.ts";
import { idempotencyHeader, type SessionCommandContext } from "./command.ts";

/** What a session runs in the background; with an id, or the end of one, that one is stopped. */
export async function listOrStopProcesses(
  place: SessionCommandContext,
  named: string,
): Promise<CommandAnswer> {
  const { client, sessionId: id } = place;
  const listed = await client.listProcesses({ params: { id } });
  if (!listed.ok) return refusalFrom(listed.error);
  const running = listed.value.processes.filter(({ state }) => state !== "ended");
  if (named === "") return { kind: "processes", processes: listed.value.processes };
  const [found, ...others] = running.filter((each) => each.id.endsWith(named));
  if (found === undefined || others.length > 0)
    return refuseCommand(
      "process_not_found",
      `${found === undefined ? "Nothing" : "More than one"} that runs here has an id that ends with ${named}.`,
    );
  const stopped = await client.stopProcess({
    params: { id: found.id },
    headers: idempotencyHeader(place),
  });
  if (!stopped.ok) return refusalFrom(stopped.error);
  return { kind: "processes", processes: [stopped.value.process] };
}

/** `npm test: runs; /processes 7k2x4m stops it`, or how it ended and its id. */
export function describeProcess({ id, command, state, end }: ProcessView): string {
  if (end === null && state === "running")
    return `${command}: runs; /processes ${id.slice(-6)} stops it`;
  return `${command}: ${end ?? "is being stopped"} (${id})`;
}
