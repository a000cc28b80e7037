// A process with an engine of its own: does the one thing that it was started for, and says what came of it.
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

// Written by the process that started this one, whose channel is our leash.
const assignment = JSON.parse(process.argv[2] ?? "{}") as Assignment;
process.once("disconnect", () => process.exit(0));
await carryOut(assignment);
