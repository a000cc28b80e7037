import { describeError } from "@holdfast/client";
import type { BlobId, StagedSkillView } from "@holdfast/protocol";
import { type ActionCall, sayReread } from "../../actions.ts";
import { exit, hasFlag } from "../../command.ts";
import { askYesOrNo } from "../../workspace-flag.ts";
import { cleanLine } from "../../screen/text.ts";
import { packSkills } from "../../../agent/skills/pack-skills.ts";
import { skillsStrings } from "../../strings/skills.ts";

const texts = skillsStrings.install;

/** Shows what would be installed and what to look at, and installs it after a yes. */
export async function installFrom(call: ActionCall, source: string): Promise<number> {
  const { client, given, terminal } = call;
  const fail = (text: string, code: number = exit.failed) => {
    terminal.printError(cleanLine(text));
    return code;
  };
  if (source === "") return fail(texts.sourceMissing, exit.misuse);
  const body = await bodyFor(call, source);
  if ("reason" in body) return fail(body.reason);
  const staged = await client.stageSkills({ body });
  if (!staged.ok) return fail(describeError(staged.error));
  const { id, skills, skipped } = staged.value;
  for (const { path, reason } of skipped)
    terminal.printError(cleanLine(skillsStrings.skipped(path, reason)));
  for (const skill of skills) preview(call, skill);
  await sayReread(call);
  const answer = await confirm(call, skills.length);
  if (answer !== "yes") {
    await client.discardSkills({ params: { id } });
    return fail(
      answer === "unasked" ? texts.unasked : texts.declined,
      answer === "unasked" ? exit.misuse : exit.failed,
    );
  }
  const chosen = skills.map(({ path, hash, replaces }) => ({
    path,
    hash,
    ...(replaces !== undefined && { replaces: replaces.hash }),
  }));
  const installed = await client.installSkills({ params: { id }, body: { skills: chosen } });
  if (!installed.ok) {
    await client.discardSkills({ params: { id } });
    return fail(describeError(installed.error));
  }
  if (!hasFlag(given, "json"))
    terminal.print(cleanLine(texts.installed(skills.map(({ name }) => name))));
  return exit.done;
}

/** A repository is cloned by the host, inside its sandbox; what is here is packed here. */
async function bodyFor(
  { client, terminal }: ActionCall,
  source: string,
): Promise<
  { readonly address: string } | { readonly blobId: BlobId } | { readonly reason: string }
> {
  if (/^https:\/\//iu.test(source)) return { address: source };
  const packed = await packSkills(source);
  if (!packed.ok) return packed;
  for (const { path, reason } of packed.skipped)
    terminal.printError(cleanLine(skillsStrings.skipped(path, reason)));
  const put = await client.putBlob({
    body: new Uint8Array(packed.archive),
    mediaType: "application/octet-stream",
  });
  return put.ok ? { blobId: put.value.blobId } : { reason: describeError(put.error) };
}

const maxShownFiles = 50;

function preview({ terminal }: ActionCall, skill: StagedSkillView): void {
  const { name, description, files, warnings, text } = skill;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  terminal.print(cleanLine(texts.preview(name, description)));
  terminal.print(cleanLine(texts.size(text.length, files.length, bytes)));
  for (const file of files.slice(0, maxShownFiles))
    terminal.print(cleanLine(texts.file(file.path, file.size)));
  if (files.length > maxShownFiles) terminal.print(texts.moreFiles(files.length - maxShownFiles));
  for (const warning of warnings) terminal.print(cleanLine(texts.check(warning)));
  if (skill.replaces === undefined) return;
  const { changes } = skill.replaces;
  terminal.print(cleanLine(texts.replaces(name, changes.length)));
  for (const { path, kind, diff = "" } of changes) {
    terminal.print(cleanLine(texts.change[kind](path)));
    for (const line of diff.split("\n")) if (line !== "") terminal.print(`    ${cleanLine(line)}`);
  }
}

async function confirm(
  { given, terminal }: ActionCall,
  count: number,
): Promise<"yes" | "no" | "left" | "unasked"> {
  if (hasFlag(given, "yes")) return "yes";
  if (terminal.input.isTTY !== true || terminal.output.isTTY !== true) return "unasked";
  return askYesOrNo(terminal, texts.ask(count));
}
