import { expect, test } from "vitest";
import { createPipeWriter } from "./writer.ts";
import type { Terminal } from "../command.ts";

test("a status is printed once when it starts, and a refused tool is shown as denied", () => {
  const errors: string[] = [];
  const writer = createPipeWriter({
    output: { write: () => undefined },
    printError: (line: string) => void errors.push(line),
  } as unknown as Terminal);
  for (const text of ["away", "away", "", "away"]) writer.status(text);
  const tool = { kind: "toolEnded", name: "pay", input: {}, output: "", tookMs: null } as const;
  writer.show([{ ...tool, outcome: "cancelled", refusal: "denied" }]);
  expect(errors).toEqual(["away", "away", "  denied"]);
});
