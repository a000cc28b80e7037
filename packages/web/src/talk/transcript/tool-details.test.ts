import { expect, test } from "vitest";
import { withWorkspaceName } from "./tool-details.tsx";

const place = "/home/ada/.holdfast/workspaces/ses_01abc";

test("a conversation's own workspace is called that where the host names it, and nowhere else", () => {
  expect(withWorkspaceName(`Runs in ${place}:\n  "rm"\n  "in ${place}"`, place)).toBe(
    `Runs in this conversation's workspace:\n  "rm"\n  "in ${place}"`,
  );
  expect(withWorkspaceName(`Fetches a page\nand puts it in ${place}`, place)).toBe(
    `Fetches a page\nand puts it in ${place}`,
  );
  expect(withWorkspaceName("Runs in /srv/papers:\n  ls", "/srv/papers")).toBe(
    "Runs in /srv/papers:\n  ls",
  );
});
