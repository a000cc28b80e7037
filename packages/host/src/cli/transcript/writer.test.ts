import { expect, test } from "vitest";
import { createPipeWriter } from "./writer.ts";
import type { Terminal } from "../command.ts";

test("how things stand is told when it begins, however often it is met, and a denied tool is told as one", () => {
  const told: string[] = [];
  const voice = createPipeWriter({
    output: { write: () => undefined },
    printError: (line: string) => void told.push(line),
  } as unknown as Terminal);
  for (const text of ["away", "away", "", "away"]) voice.status(text);
  const tool = { kind: "toolEnded", name: "pay", input: {}, output: "", tookMs: null } as const;
  voice.show([{ ...tool, outcome: "cancelled", refusal: "denied" }]);
  expect(told).toEqual(["away", "away", "  denied"]);
});
