import type { RunRow } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import type { ApiDeps } from "../api/deps.ts";
import { findRunStart, readRunOutput } from "../run-output/read-run-output.ts";

/** The text that the agent wrote in a run that is over, as every other protocol gives it. */
export async function readRunText(
  { engine, log }: Pick<ApiDeps, "engine" | "log">,
  owner: OwnerId,
  run: Pick<RunRow, "id" | "session">,
): Promise<string> {
  const { reads } = log.store;
  const query = { owner, session: run.session, runId: run.id };
  const begun = await findRunStart(reads, query);
  if (begun === null) return "";
  let text = "";
  for await (const item of readRunOutput({ engine, reads }, { ...query, begun }))
    if (item.kind === "text") text += item.text;
  return text;
}
