import { expect, test } from "vitest";
import { withWorkspaceName } from "./tool-details.tsx";

const workspace = "/home/ada/.holdfast/workspaces/ses_01abc";

test("a worktree is named in words in the host's first line, and nowhere else", () => {
  const id = 'the workspace "worktree:e17dab6ad45c9f97"';
  expect(withWorkspaceName(`Changes "a" in ${id}:\n  ${id}`, "/home/ada/worktrees/e1")).toBe(
    `Changes "a" in this conversation's worktree:\n  ${id}`,
  );
});

test("a conversation's own workspace is named in the host's first line, and nowhere else", () => {
  expect(withWorkspaceName(`Runs in ${workspace}:\n  "rm"\n  "in ${workspace}"`, workspace)).toBe(
    `Runs in this conversation's workspace:\n  "rm"\n  "in ${workspace}"`,
  );
  expect(withWorkspaceName(`Fetches a page\nand puts it in ${workspace}`, workspace)).toBe(
    `Fetches a page\nand puts it in ${workspace}`,
  );
  expect(withWorkspaceName("Runs in /srv/papers:\n  ls", "/srv/papers")).toBe(
    "Runs in /srv/papers:\n  ls",
  );
});
