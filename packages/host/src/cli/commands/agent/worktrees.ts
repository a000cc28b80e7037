import type { WorktreeView } from "@holdfast/protocol";
import { type ActionCall, failed, misuse, printList, runAction, say } from "../../actions.ts";
import { type Command, exit, hasFlag, textFlag } from "../../command.ts";
import { cleanLine } from "../../screen/text.ts";
import { worktreesStrings as texts } from "../../strings/access.ts";
import { programStrings } from "../../strings/program.ts";

export const worktrees: Command = {
  usage: ["worktrees [list]", "worktrees remove <id> [--delete-branch] [--lose <code>]"],
  about: texts.about,
  flags: {
    json: { type: "boolean", about: programStrings.flags.json },
    "delete-branch": { type: "boolean", about: texts.flags.deleteBranch },
    lose: { type: "string", value: "code", about: texts.flags.lose },
  },
  examples: [
    ["holdfast worktrees", texts.examples.list],
    ["holdfast worktrees remove 9f3a61c204d7be58", texts.examples.remove],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "worktrees", usual: "list", actions: { list, remove } }),
};

async function list(call: ActionCall): Promise<number> {
  const listed = await call.client.listWorktrees();
  if (!listed.ok) return failed(call, listed);
  await printList(call, listed.value.worktrees, cellsOf);
  if (listed.value.worktrees.length === 0) call.terminal.printError(texts.none);
  return exit.done;
}

function cellsOf(worktree: WorktreeView): string[] {
  const { id, branch, repository, isUsed } = worktree;
  return [id, branch, repository, isUsed ? texts.used : texts.unused, workText(worktree)];
}

function workText({ work, state }: WorktreeView): string {
  if (state === "unfinished") return texts.unfinished;
  return work === null ? texts.unknown : texts.work(work.changes, work.commits);
}

async function remove(call: ActionCall): Promise<number> {
  const { client, terminal, given, words } = call;
  const [id = ""] = words;
  if (!/^[0-9a-f]{16}$/u.test(id)) return misuse(call, texts.idMissing);
  const read = await client.readWorktree({ params: { id } });
  if (!read.ok) return failed(call, read);
  const { worktree } = read.value;
  const branch = hasFlag(given, "delete-branch") ? "delete" : "keep";
  const lose = textFlag(given, "lose");
  const removed = await client.removeWorktree({
    params: { id },
    body: { branch, ...(lose !== undefined && { lose }) },
  });
  if (removed.ok) return say(call, texts.removed[branch](worktree.branch));
  const code = failed(call, removed);
  const { work } = worktree;
  if (removed.error.code === "worktree_has_work" && work !== null)
    terminal.printError(cleanLine(texts.toLose(work.hash)));
  return code;
}
