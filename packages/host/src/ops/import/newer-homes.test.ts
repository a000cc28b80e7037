import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runFsck } from "@holdfast/engine";
import { laneKey, type Seq, sessionId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { visibleTexts } from "../../../test/support/hermes/compare-session.ts";
import {
  assistant,
  HermesHome,
  type HermesSchema,
  sha256,
  tool,
  user,
} from "../../../test/support/hermes/home.ts";
import { importInto, openTaker, owner } from "../../../test/support/hermes/import-into.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a home, imports it, and finds what was said in a session of it. */
async function imported(schema: HermesSchema, write: (home: HermesHome) => void) {
  const root = join(makeFolder(), "hermes");
  const home = new HermesHome(root, schema);
  write(home);
  home.close();
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const { items, failure, totals } = await importInto(await openTaker(makeFolder(), store), root);
  expect([failure, totals.differs]).toEqual([null, 0]);
  const found = await runFsck(store.audit, { now: await store.now() });
  expect(found).toMatchObject({ exitCode: 0, findings: 0 });
  const sessionOf = (id: string) =>
    sessionId.parse(items.find(({ ids }) => ids?.includes(id))?.session);
  const hashes = async (id: string) =>
    (await visibleTexts({ store, owner }, sessionOf(id))).map(({ role, hash }) => [role, hash]);
  const summaries = async (id: string) => {
    const after = 0 as Seq;
    const page = await store.reads.events(owner, sessionOf(id), { after, limit: 500 });
    const types = page?.events.map(({ type }) => type) ?? [];
    return types.filter((type) => type === "context.compacted").length;
  };
  return { items, store, sessionOf, hashes, summaries };
}

const said = (...messages: readonly { readonly role: string; readonly content: string }[]) =>
  messages.map(({ role, content }) => [role, sha256(content)]);

test("a newer home arrives: prompts as sent, bookkeeping rows, resets, chats, pins and costs by model", async () => {
  const plain = [user("water", { columns: { api_content: "[memory] water" } }), assistant("done")];
  const { items, store, sessionOf, hashes, summaries } = await imported("newer", (home) => {
    home.file(".env", "TELEGRAM_BOT_TOKEN=77:abc\n");
    const chat = { session_key: "agent:main:telegram:dm:42", end_reason: "idle", pinned: 1 };
    const costs = { model: "large", input_tokens: 100, output_tokens: 10, actual_cost_usd: 0.5 };
    home.session("chat", { source: "telegram", ...chat, ...costs }, [
      ...plain,
      user("Switched to small", { columns: { display_kind: "model_switch" } }),
    ]);
    const share = { session_id: "chat", model: "small", input_tokens: 30, output_tokens: 4 };
    home.insert("session_model_usage", { ...share, actual_cost_usd: 0.1 });
    home.insert("session_model_usage", { ...share, model: "large", input_tokens: 70 });
    const reset = { parent_session_id: "chat", model_config: '{"_reset_from":"chat"}' };
    home.session("reset", { source: "telegram", ...reset }, [user("again")]);
    const origin = { platform: "telegram", chat_id: 42, chat_type: "dm", thread_id: null };
    const entry = JSON.stringify({ session_id: "reset", origin });
    home.insert("gateway_routing", { scope: "/x", session_key: "k", entry_json: entry });
    const first = [
      user("plan"),
      assistant("glass"),
      user("how"),
      assistant("so"),
      user("more"),
      assistant("a door"),
    ];
    home.session("plan-1", { end_reason: "compression", ended_at: home.now() }, first);
    home.session("plan-2", { parent_session_id: "plan-1" }, [
      ...first.slice(0, 2),
      user(
        "[PRIOR CONTEXT — said before]\nmore\n[END OF PRIOR CONTEXT — the summary follows]\n\n" +
          "[CONTEXT COMPACTION — REFERENCE ONLY] Build it.\n--- END OF CONTEXT SUMMARY ---",
      ),
      assistant("a door"),
      user("and then"),
    ]);
  });
  expect(await hashes("chat")).toEqual(said(...plain));
  expect(await hashes("reset")).toEqual(said(user("again")));
  expect(await hashes("plan-2")).toEqual(
    said(
      user("plan"),
      assistant("glass"),
      user("how"),
      assistant("so"),
      user("more"),
      assistant("a door"),
      user("and then"),
    ),
  );
  expect(await summaries("plan-2")).toBe(1);
  expect(await store.reads.session(owner, sessionOf("chat"))).toMatchObject({ pinned: true });
  expect(await store.reads.lane(owner, laneKey.parse("telegram:77:p42:0"))).toBe(
    sessionOf("reset"),
  );
  const within = { from: 0, to: 10_000_000_000_000 };
  const used = await store.reads.usageGroups(owner, { by: "model", within, limit: 5 });
  expect(used).toMatchObject([
    { key: "large", input: 70, output: 6, costMicros: 400_000 },
    { key: "small", input: 30, output: 4, costMicros: 100_000 },
  ]);
  expect(JSON.stringify(items)).not.toContain("[memory]");
});

test("the newest homes say which rows are copies and which are summaries, whatever their texts", async () => {
  const identity = (name: string) => ({ columns: { display_identity: name } });
  const before = [
    user("compare", identity("1")),
    assistant("I look.", { calls: ["c1"], ...identity("2") }),
    { ...tool("c1", "a long result of a tool"), ...identity("3") },
    assistant("two offers", identity("4")),
    user("which", identity("5")),
    assistant("the first", identity("6")),
  ];
  const after = [user("thanks", identity("7")), assistant("welcome", identity("8"))];
  const { hashes, summaries, store, sessionOf } = await imported("newest", (home) => {
    home.session("offers", { created_source: "cli" }, [
      ...before.map((message) => ({ ...message, state: "compacted" as const })),
      user("compare", identity("1")),
      user("What was done: two offers.", { columns: { _compressed_summary: 1 } }),
      // Shortened for the model.
      user("whi…", identity("5")),
      assistant("the fir…", identity("6")),
      ...after,
    ]);
    home.session("hidden", { hidden: 1 }, [user("out of the way")]);
  });
  expect(await hashes("offers")).toEqual(said(...before, ...after));
  expect(await summaries("offers")).toBe(1);
  const hidden = await store.reads.session(owner, sessionOf("hidden"));
  expect(hidden).toMatchObject({ archived: true });
});
