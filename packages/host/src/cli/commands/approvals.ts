import { readShown } from "@holdfast/client";
import { approvalId, questionOf } from "@holdfast/protocol";
import { type ActionCall, failed, misuse, runAction } from "../actions.ts";
import { type Command, exit, hasFlag } from "../command.ts";
import { cleanJson, cleanLine, cleanText } from "../screen/text.ts";
import { approvalsStrings as texts } from "../strings/access.ts";
import { programStrings } from "../strings/program.ts";

export const approvals: Command = {
  usage: ["approvals list", "approvals rules", "approvals revoke <id>"],
  about: texts.about,
  flags: { json: { type: "boolean", about: programStrings.flags.json } },
  examples: [
    ["holdfast approvals", texts.examples.list],
    ["holdfast approvals rules", texts.examples.rules],
    ["holdfast approvals revoke apr_…", texts.examples.revoke],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "approvals", usual: "list", actions }),
};

const actions = { list, rules, revoke };

async function list(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const result = await client.listApprovals();
  if (!result.ok) return failed(call, result);
  for (const approval of result.value.approvals) {
    const { approvalId: id, sessionId, name, input } = approval;
    const asked = questionOf(approval, input)?.question;
    const shown = asked ?? approval.shown ?? JSON.stringify(input);
    const heading = `${id}  ${cleanLine(name)}  ${texts.answerIn(sessionId)}`;
    const { heading: what, body } = readShown(name, cleanText(shown));
    const lines = [...(what === "" ? [] : [what]), body].join("\n").replaceAll(/^/gm, "  ");
    terminal.print(hasFlag(given, "json") ? cleanJson(approval) : `${heading}\n${lines}`);
  }
  if (result.value.approvals.length === 0) terminal.printError(texts.none);
  return exit.done;
}

async function rules(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const [kept, granted] = await Promise.all([client.listRules(), client.listGrants()]);
  if (!kept.ok) return failed(call, kept);
  if (!granted.ok) return failed(call, granted);
  const all = [
    ...kept.value.rules.map((rule) => ({ ...rule, holds: texts.always, covers: rule.rule })),
    ...granted.value.grants.map((grant) => ({
      ...grant,
      holds: texts.inSession(grant.sessionId),
      covers: grant.rule ?? grant.shown ?? grant.tool,
    })),
  ];
  for (const entry of all) {
    const { id, holds, covers, until } = entry;
    const end = until === undefined ? "" : texts.until(new Date(until).toISOString());
    const row = `${id}  ${cleanLine(covers)}  (${holds}${end})`;
    terminal.print(hasFlag(given, "json") ? cleanJson(entry) : row);
  }
  if (all.length === 0) terminal.printError(texts.noRules);
  return exit.done;
}

/** A rule or a grant: both are named by the approval that they were given with. */
async function revoke(call: ActionCall): Promise<number> {
  const { client, terminal, words } = call;
  const id = approvalId.safeParse(words[0]);
  if (!id.success) return misuse(call, texts.idMissing);
  const params = { id: id.data };
  const removed = await client.removeRule({ params });
  const result = removed.ok ? removed : await client.revokeGrant({ params });
  if (!result.ok) return failed(call, result);
  terminal.printError(texts.revoked);
  return exit.done;
}
