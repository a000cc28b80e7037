import { findCommand, type SessionSkillsView } from "@holdfast/protocol";
import {
  type CommandAnswer,
  type CommandContext,
  refusalFrom,
  refuseCommand,
  type SessionCommandContext,
} from "./command.ts";
import { sendMessage } from "./conversation.ts";

/** Lists the session's skills, or sends a message that activates one. */
export async function listOrUseSkill(
  context: SessionCommandContext,
  words: string,
): Promise<CommandAnswer> {
  const listed = await context.client.listSessionSkills({ params: { id: context.sessionId } });
  if (!listed.ok) return refusalFrom(listed.error);
  const { available, workspace } = listed.value;
  const waiting = workspace.skills.filter(({ state }) => state === "undecided").length;
  if (words === "") return { kind: "skills", skills: available, waiting };
  const [name = ""] = words.split(/\s/u, 1);
  if (available.some((skill) => skill.name === name))
    return sendMessage(context, `/skill ${words}`, "queue");
  return refuseCommand("skill_not_found", `There is no skill ${name} here. /skill lists them.`);
}

/** Lists the agents that the session's model can give tasks to. */
export async function listAgents({
  client,
  sessionId,
}: SessionCommandContext): Promise<CommandAnswer> {
  const listed = await client.listSessionAgents({ params: { id: sessionId } });
  if (!listed.ok) return refusalFrom(listed.error);
  const { available, workspace } = listed.value;
  const waiting = workspace.agents.filter(({ state }) => state === "undecided").length;
  return { kind: "agents", agents: available, waiting };
}

type Asked = Pick<CommandContext, "client" | "sessionId">;

/** The skills of this session, or of the one that the next message begins. None, if they cannot be read. */
export async function listUsableSkills({
  client,
  sessionId,
}: Asked): Promise<SessionSkillsView["available"]> {
  if (sessionId !== null) {
    const listed = await client.listSessionSkills({ params: { id: sessionId } });
    return listed.ok ? listed.value.available : [];
  }
  const listed = await client.listSkills();
  return listed.ok
    ? listed.value.skills.filter(({ state, shadowedBy }) => state === "on" && shadowedBy === null)
    : [];
}

/**
 * Whether a text that is no command asks for a skill: `/name` and what it is to do. The host activates it, so the text
 * is sent as it is.
 */
export async function asksForSkill(asked: Asked, name: string): Promise<boolean> {
  if (!/^[a-z0-9-]{1,64}$/u.test(name)) return false;
  return (await listUsableSkills(asked)).some((skill) => skill.name === name);
}

/** The skills that a `/` and the beginning of a name may mean. A command keeps its name. */
export function completeSkill<T extends { readonly name: string }>(
  typed: string,
  skills: readonly T[],
): readonly T[] {
  const [, begun] = /^\/([a-z0-9-]*)$/u.exec(typed) ?? [];
  if (begun === undefined) return [];
  return skills.filter(({ name }) => name.startsWith(begun) && findCommand(name) === undefined);
}
