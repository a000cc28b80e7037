import { type Client, describeError, type Result } from "@holdfast/client";
import { approvalId } from "@holdfast/protocol";
import { type Arguments, type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine, cleanText } from "../screen/text.ts";

interface ApprovalsCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: ApprovalsCall) => Promise<number>>> = {
  list,
  rules,
  revoke,
};

export const approvals: Command = {
  usage: ["approvals list", "approvals rules", "approvals revoke <id>"],
  about:
    "Lists the open approvals of all sessions and what you have allowed for more than one call, and revokes it.",
  flags: { json: { type: "boolean", about: "a line of JSON for each" } },
  examples: [
    ["holdfast approvals", "open approvals, and the session to answer each in"],
    ["holdfast approvals rules", "what you have allowed for good or for a session"],
    ["holdfast approvals revoke apr_…", "you are asked again from then on"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "list", ...words] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(
        `"approvals ${name}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => action({ client, terminal, given, words }));
  },
};

function failed({ terminal }: ApprovalsCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function list(call: ApprovalsCall): Promise<number> {
  const { client, given, terminal } = call;
  const result = await client.listApprovals();
  if (!result.ok) return failed(call, result);
  for (const approval of result.value.approvals) {
    const { approvalId: id, sessionId, name, shown = JSON.stringify(approval.input) } = approval;
    const heading = `${id}  ${cleanLine(name)}  holdfast chat --session ${sessionId}`;
    const lines = cleanText(shown).replaceAll(/^/gm, "  ");
    terminal.print(hasFlag(given, "json") ? cleanJson(approval) : `${heading}\n${lines}`);
  }
  if (result.value.approvals.length === 0) terminal.printError("Nothing needs your approval.");
  return exit.done;
}

async function rules(call: ApprovalsCall): Promise<number> {
  const { client, given, terminal } = call;
  const [kept, granted] = await Promise.all([client.listRules(), client.listGrants()]);
  if (!kept.ok) return failed(call, kept);
  if (!granted.ok) return failed(call, granted);
  const all = [
    ...kept.value.rules.map((rule) => ({ ...rule, holds: "always", covers: rule.rule })),
    ...granted.value.grants.map((grant) => ({
      ...grant,
      holds: `in ${grant.sessionId}`,
      covers: grant.rule ?? grant.shown ?? grant.tool,
    })),
  ];
  for (const entry of all) {
    const { id, holds, covers, until } = entry;
    const end = until === undefined ? "" : `, until ${new Date(until).toISOString()}`;
    const row = `${id}  ${cleanLine(covers)}  (${holds}${end})`;
    terminal.print(hasFlag(given, "json") ? cleanJson(entry) : row);
  }
  if (all.length === 0) terminal.printError("Nothing is allowed for more than one call.");
  return exit.done;
}

/** A rule or a grant: both are named by the approval that they were given with. */
async function revoke(call: ApprovalsCall): Promise<number> {
  const { client, terminal, words } = call;
  const id = approvalId.safeParse(words[0]);
  if (!id.success) {
    terminal.printError('Expected an id like apr_…, as "holdfast approvals rules" lists it.');
    return exit.misuse;
  }
  const params = { id: id.data };
  const removed = await client.removeRule({ params });
  const result = removed.ok ? removed : await client.revokeGrant({ params });
  if (!result.ok) return failed(call, result);
  terminal.printError("Revoked: you are asked again from now on.");
  return exit.done;
}
