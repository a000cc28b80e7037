import { expect, test } from "vitest";

import { textOfComments } from "./comments.ts";

test("comments become one message: file, line, what stands there, and what was said", () => {
  const text = textOfComments([
    { path: "src/a.ts", at: { kind: "added", line: 4, text: "  return 1;" }, text: "Why 1?" },
    { path: "src/a.ts", at: { kind: "removed", line: 9, text: "old()" }, text: "Keep it." },
    { path: "odd\nname", at: null, text: "Remove it." },
  ]);
  expect(text).toBe(
    [
      "Comments on the changes:",
      "src/a.ts, line 4:\n> +   return 1;",
      "Why 1?",
      "src/a.ts, line 9 before the change:\n> - old()",
      "Keep it.",
      "odd name:",
      "Remove it.",
    ].join("\n\n"),
  );
});
