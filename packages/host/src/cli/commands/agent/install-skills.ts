import { describeError } from "@holdfast/client";
import type { SkillView } from "@holdfast/protocol";
import { exit, hasFlag } from "../../command.ts";
import { askYesOrNo } from "../../workspace-flag.ts";
import { cleanLine } from "../../screen/text.ts";
import { packSkills } from "./pack-skills.ts";
import type { SkillsCall } from "./skills.ts";

/** Shows what would be installed and what to look at, and installs it after a yes. */
export async function installFrom(call: SkillsCall): Promise<number> {
  const { client, given, terminal, name: source } = call;
  const fail = (text: string, code: number = exit.failed) => {
    terminal.printError(cleanLine(text));
    return code;
  };
  if (source === "")
    return fail(
      "Name a folder, an archive, or the https address of a git repository.",
      exit.misuse,
    );
  const packed = await packSkills(source, terminal.environment);
  if (!packed.ok) return fail(packed.reason);
  for (const { path, reason } of packed.skipped)
    terminal.printError(cleanLine(`${path}: ${reason}`));
  const put = await client.putBlob({
    body: new Uint8Array(packed.archive),
    mediaType: "application/octet-stream",
  });
  if (!put.ok) return fail(describeError(put.error));
  const staged = await client.stageSkills({ body: { blobId: put.value.blobId } });
  if (!staged.ok) return fail(describeError(staged.error));
  const { id, skills, skipped } = staged.value;
  for (const { path, reason } of skipped) terminal.printError(cleanLine(`${path}: ${reason}`));
  for (const skill of skills) preview(call, skill);
  const answer = await confirm(call, skills.length);
  if (answer !== "yes") {
    await client.discardSkills({ params: { id } });
    return fail(
      answer === "unasked"
        ? "Nothing was installed. Read the preview above, then run it again with --yes."
        : "Nothing was installed.",
      answer === "unasked" ? exit.misuse : exit.failed,
    );
  }
  const chosen = skills.map(({ path, hash }) => ({ path, hash }));
  const installed = await client.installSkills({ params: { id }, body: { skills: chosen } });
  if (!installed.ok) {
    await client.discardSkills({ params: { id } });
    return fail(describeError(installed.error));
  }
  if (!hasFlag(given, "json"))
    terminal.print(cleanLine(`Installed: ${skills.map(({ name }) => name).join(", ")}`));
  return exit.done;
}

function preview({ terminal }: SkillsCall, skill: SkillView): void {
  const { name, description, files, warnings, text } = skill;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  terminal.print(cleanLine(`${name}: ${description}`));
  terminal.print(
    cleanLine(`  ${text.length} characters of instructions, ${files.length} files, ${bytes} bytes`),
  );
  for (const file of files.slice(0, 50)) terminal.print(cleanLine(`  ${file.path}\t${file.size}`));
  if (files.length > 50) terminal.print(`  and ${files.length - 50} more`);
  for (const warning of warnings) terminal.print(cleanLine(`  Check this: ${warning}`));
}

async function confirm(
  { given, terminal }: SkillsCall,
  count: number,
): Promise<"yes" | "no" | "left" | "unasked"> {
  if (hasFlag(given, "yes")) return "yes";
  if (terminal.input.isTTY !== true || terminal.output.isTTY !== true) return "unasked";
  const what = count === 1 ? "this skill" : `these ${count} skills`;
  return askYesOrNo(terminal, `Install ${what}? The agent follows what it says. [y/N] `);
}
