// A process with its own engine: does the one task that it was started for, and reports the result.
import { takeTask } from "../harness/task.ts";
import { holdRuns } from "./hold-runs.ts";
import { measureMemory } from "./measure-memory.ts";
import { measureStream } from "./measure-stream.ts";
import { takeOver } from "./take-over.ts";
import type { Assignment, TaskName, Tasks } from "./tasks.ts";

type Work<Name extends TaskName> = (assignment: Assignment<Name>) => Promise<Tasks[Name]["result"]>;

const work: { readonly [Name in TaskName]: Work<Name> } = {
  stream: measureStream,
  hold: holdRuns,
  takeOver,
  memory: measureMemory,
};

async function carryOut<Name extends TaskName>(assignment: Assignment<Name>): Promise<void> {
  process.send?.(await work[assignment.name](assignment));
}

await carryOut(takeTask<Assignment>());
