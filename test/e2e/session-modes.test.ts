import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@holdfast/client";
import { type SessionId, type SessionMode } from "@holdfast/protocol";
import { startHost } from "@holdfast/testing/process/start-process";
import { expect, onTestFinished, test } from "vitest";
import {
  followUntil,
  hasEnded,
  readLog,
  serveWithClient,
  settingsFor,
  valueOf,
} from "./served-host.ts";
import { startOnPipes } from "./terminal.ts";

type Host = Awaited<ReturnType<typeof serveWithClient>>;

let messages = 0;

/** A session in a mode, and what its model does there. */
async function openSession({ client, home }: Host, mode: SessionMode) {
  const { session } = valueOf(await client.createSession({ body: { mode } }));
  const { id } = session;
  const params = { id };
  const workspace = join(home, "workspaces", id);

  /** Lets the model call a tool, and resolves once the run has ended or waits for a person. */
  async function call(tool: string, input: object, rest: object = {}) {
    messages += 1;
    const text = `{rate:1000} {tool:${tool} ${JSON.stringify(input)}}`;
    const body = { clientId: `modes-${messages}`, text, ...rest };
    const { seq } = valueOf(await client.sendMessage({ params, body }));
    return after(seq);
  }

  async function after(before: number) {
    const state = await followUntil(
      client,
      id,
      (now) =>
        now.seq > before &&
        (hasEnded(now) || (now.run?.state === "waiting" && now.inbox.length === 0)),
    );
    const log = (await readLog(client, id, state.seq)).filter(({ seq }) => seq > before);
    const started = log.filter(({ type }) => type === "tool.started");
    const results = log.filter(({ type }) => type === "message.tool");
    return {
      ran: started.map(({ data }) => [data["name"], data["allowedBy"], data["mode"]]),
      outcome: JSON.stringify(results.map(({ data }) => data["parts"])),
      waits: state.live?.approvals.map(({ name, notes }) => [name, ...(notes ?? [])]) ?? [],
      state,
    };
  }

  /** Refuses what waits, so that the next message gets its turn. */
  async function deny() {
    const { approvals } = valueOf(await client.listApprovals({ query: { sessionId: id } }));
    for (const { approvalId } of approvals)
      valueOf(
        await client.answerApproval({ params: { id: approvalId }, body: { decision: "deny" } }),
      );
    await followUntil(client, id, hasEnded);
  }
  return { id, params, workspace, call, after, deny };
}

const note = { path: "note.txt", content: "kelp\n" };
const command = { command: ["cp", "/etc/hostname", "ran.txt"] };

test("[safety] a session that accepts edits changes files of its workspace and never runs a command", async () => {
  const host = await serveWithClient();
  const it = await openSession(host, "edits");
  const written = await it.call("write_file", note);
  expect(written.ran).toEqual([["write_file", "mode: edits", "edits"]]);
  expect(readFileSync(join(it.workspace, "note.txt"), "utf8")).toBe("kelp\n");
  for (const [tool, input] of [
    ["terminal", command],
    ["terminal", { command: "cp /etc/hostname ran.txt" }],
    ["fetch_url", { url: "https://example.org/" }],
    ["write_file", { ...note, path: ".git/hooks/pre-commit" }],
    ["write_file", { ...note, path: "../outside.txt" }],
  ] as const) {
    const { ran, waits } = await it.call(tool, input);
    expect([ran, waits]).toEqual([[], [[tool]]]);
    await it.deny();
  }
  expect(existsSync(join(it.workspace, "ran.txt"))).toBe(false);
  expect(existsSync(join(it.workspace, "../outside.txt"))).toBe(false);
}, 60_000);

test("[safety] a session in full mode runs commands only inside a sandbox and without network", async () => {
  const host = await serveWithClient({ HOLDFAST_SANDBOX: "preferred" });
  const it = await openSession(host, "full");
  const line = `cat ${join(host.home, "token")}; cp /etc/hostname ran.txt && echo done`;
  const confined = await it.call("terminal", { command: line });
  expect(confined.ran).toEqual([["terminal", "mode: full", "full"]]);
  expect(confined.outcome).toContain("done");
  expect(confined.outcome).not.toContain(host.token);
  expect(existsSync(join(it.workspace, "ran.txt"))).toBe(true);
  expect((await it.call("write_file", note)).ran).toEqual([["write_file", "mode: full", "full"]]);
  const online = await it.call("terminal", { ...command, hosts: ["example.org"] });
  expect([online.ran, online.waits]).toEqual([
    [],
    [["terminal", 'The mode "Full in the sandbox" does not cover its network access.']],
  ]);
  await it.deny();
  const published = await it.call("terminal", { ...command, background: true, publish: 8_080 });
  expect([published.ran, published.waits.length]).toEqual([[], 1]);
  await it.deny();
  expect((await it.call("fetch_url", { url: "https://example.org/" })).waits).toHaveLength(1);
  await it.deny();
  const audit = valueOf(await host.client.listAudit({ query: { sessionId: it.id } }));
  expect(audit.entries.map(({ tool, what, rule, mode }) => [tool, what, rule, mode])).toEqual([
    ["terminal", "ran", "mode: full", "full"],
    ["write_file", "ran", "mode: full", "full"],
    ["terminal", "deny", undefined, "full"],
    ["terminal", "deny", undefined, "full"],
    ["fetch_url", "deny", undefined, "full"],
  ]);
}, 60_000);

test("[safety] where no sandbox confines a command, full mode asks", async () => {
  const host = await serveWithClient({ HOLDFAST_SANDBOX: "off" });
  const it = await openSession(host, "full");
  const unconfined = await it.call("terminal", command);
  expect([unconfined.ran, unconfined.waits]).toEqual([
    [],
    [["terminal", 'The mode "Full in the sandbox" does not cover it: no sandbox confines it.']],
  ]);
  expect(existsSync(join(it.workspace, "ran.txt"))).toBe(false);
}, 60_000);

test("[safety] after reading a stranger's text no mode counts", async () => {
  const host = await serveWithClient();
  const it = await openSession(host, "full");
  const tainted = await it.call("terminal", command, { quoted: [[0, 5]] });
  expect([tainted.ran, tainted.waits]).toEqual([
    [],
    [["terminal", 'The mode "Full in the sandbox" does not count after such reading.']],
  ]);
  await it.deny();
  const edit = await it.call("write_file", note);
  expect([edit.ran, edit.waits.map(([name]) => name)]).toEqual([[], ["write_file"]]);
}, 60_000);

test("[safety] the operator's rules bind in full mode, and a shell does not hide a command from them", async () => {
  const host = await serveWithClient({
    HOLDFAST_TOOL_RULES: "ask terminal: cp *, deny write_file in secret/**",
  });
  const it = await openSession(host, "full");
  expect((await it.call("terminal", command)).waits).toEqual([["terminal"]]);
  await it.deny();
  const hidden = await it.call("terminal", { command: 'a=c; b=p; "$a$b" /etc/hostname ran.txt' });
  expect([hidden.ran, hidden.waits.length]).toEqual([[], 1]);
  await it.deny();
  const denied = await it.call("write_file", { ...note, path: "secret/a.txt" });
  expect([denied.ran, denied.outcome]).toEqual([[], expect.stringContaining("forbidden")]);
  expect((await it.call("terminal", { command: ["echo", "dulse"] })).ran).toHaveLength(1);
  expect(existsSync(join(it.workspace, "ran.txt"))).toBe(false);
}, 60_000);

test("[safety] in plan mode nothing is changed, and no tool lets the model leave it", async () => {
  const host = await serveWithClient({ HOLDFAST_TOOL_RULES: "allow terminal, allow write_file" });
  const it = await openSession(host, "plan");
  for (const [tool, input] of [
    ["terminal", command],
    ["write_file", note],
    ["remember", { about: "person", line: "They like kelp." }],
    ["processes", { action: "stop", id: "x" }],
  ] as const) {
    const { ran, waits, outcome } = await it.call(tool, input);
    expect([tool, ran, waits]).toEqual([tool, [], []]);
    expect(outcome).toContain("plan_mode");
  }
  for (const [tool, input] of [
    ["mode", { mode: "full" }],
    ["set_mode", { mode: "full" }],
    ["approve_plan", { answer: "approve edits" }],
  ] as const)
    expect((await it.call(tool, input)).outcome).toContain("There is no tool");
  expect((await it.call("list_files", {})).ran).toEqual([["list_files", undefined, "plan"]]);
  const { session } = valueOf(await host.client.readSession({ params: it.params }));
  expect(session.mode).toBe("plan");
}, 60_000);

test("a plan waits through kill -9, and approving it switches the mode and lets the run go on", async () => {
  const host = await serveWithClient();
  const it = await openSession(host, "plan");
  const asked = await it.call("submit_plan", { plan: "1. Write note.txt" });
  expect(asked.waits).toEqual([["submit_plan"]]);
  await host.host.kill();
  const env = settingsFor({ HOLDFAST_HOME: host.home });
  const next = startHost(["serve"], { env, onCleanup: onTestFinished });
  const line = await next.line((text) => text.startsWith("Holdfast is at "));
  const address = /^Holdfast is at ([^\s#]+)/.exec(line)?.[1] ?? "";
  const client = createClient({ baseUrl: address, token: host.token });
  const { approvals } = valueOf(await client.listApprovals({ query: { sessionId: it.id } }));
  expect(approvals).toMatchObject([
    { name: "submit_plan", kind: "question", plan: true, mode: "plan" },
  ]);
  const params = { id: approvals[0]?.approvalId ?? ("" as never) };
  const invalid = await client.answerApproval({ params, body: { decision: "always" } });
  expect(invalid.ok ? invalid : invalid.error.code).toBe("invalid_request");
  valueOf(await client.answerApproval({ params, body: { decision: "once", mode: "edits" } }));
  const ended = await followUntil(client, it.id, hasEnded);
  expect(ended.session.mode).toBe("edits");
  expect(JSON.stringify(ended.entries)).toContain("The person has approved the plan.");
  const again = { ...host, client };
  const id: SessionId = it.id;
  const text = `{rate:1000} {tool:write_file ${JSON.stringify(note)}}`;
  valueOf(await again.client.sendMessage({ params: { id }, body: { clientId: "go", text } }));
  await followUntil(client, id, (state) => hasEnded(state) && state.seq > ended.seq);
  expect(readFileSync(join(it.workspace, "note.txt"), "utf8")).toBe("kelp\n");
}, 60_000);

test("[safety] an API key whose profile answers no approvals can narrow a mode but not widen it", async () => {
  const { client, address } = await serveWithClient();
  const profile = {
    tools: ["*"],
    sessions: "all" as const,
    memory: "none" as const,
    approvals: false,
  };
  valueOf(await client.putRightsProfile({ params: { name: "quiet" }, body: profile }));
  const key = valueOf(await client.createKey({ body: { name: "ci", profile: "quiet" } }));
  const limited = createClient({ baseUrl: address, token: key.secret });
  const { session } = valueOf(await limited.createSession({ body: {} }));
  const params = { id: session.id };
  const codes = async (mode: SessionMode) => {
    const changed = await limited.changeSession({ params, body: { mode } });
    return changed.ok ? changed.value.session.mode : changed.error.code;
  };
  expect([await codes("edits"), await codes("full")]).toEqual(["mode_too_wide", "mode_too_wide"]);
  expect([await codes("plan"), await codes("ask")]).toEqual(["plan", "mode_too_wide"]);
  const wide = await limited.createSession({ body: { mode: "full" } });
  expect(wide.ok ? wide : wide.error.code).toBe("mode_too_wide");
}, 60_000);

test("run begins a session in the mode that it names, and sessions switches it", async () => {
  const { client, home } = await serveWithClient();
  async function holdfast(...args: string[]) {
    const started = startOnPipes(args, { HOLDFAST_HOME: home });
    started.endInput();
    const { code } = await started.exited;
    return { code, said: started.stdout(), told: started.stderr() };
  }
  const wrong = await holdfast("run", "--mode", "everything", "Hello");
  expect([wrong.code, wrong.told]).toEqual([2, "--mode must be plan, ask, edits, or full.\n"]);
  const planned = await holdfast(
    "run",
    "--mode",
    "plan",
    `{tool:write_file ${JSON.stringify(note)}}`,
  );
  expect(planned.code).toBe(0);
  expect(planned.said).toContain("plan mode");
  const { sessions } = valueOf(await client.listSessions({ query: {} }));
  expect(sessions.map(({ mode }) => mode)).toEqual(["plan"]);
  const id = sessions[0]?.id ?? ("" as SessionId);
  const switched = await holdfast("sessions", "mode", id, "full");
  expect(switched.code).toBe(0);
  expect(switched.said).toContain("Now in full mode:");
  expect((await holdfast("sessions", "mode", id, "everything")).code).toBe(2);
  const { session } = valueOf(await client.readSession({ params: { id } }));
  expect(session.mode).toBe("full");
}, 60_000);
