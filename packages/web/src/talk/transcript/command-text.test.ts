import { expect, test } from "vitest";
import { commandOf } from "./command-text.ts";

test("a command is shown as somebody would type it", () => {
  expect(commandOf({ command: "ls -la | wc" })).toBe("ls -la | wc");
  expect(commandOf({ command: ["git", "commit", "-m", "It's done"] })).toBe(
    String.raw`git commit -m 'It'\''s done'`,
  );
  expect(commandOf({ path: "a" })).toBeNull();
});
