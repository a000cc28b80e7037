import {
  anEvent,
  aCut,
  aFile,
  anInput,
  anOwner,
  aRange,
  aRunId,
  aRunState,
  aSession,
  toSeq,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { maxCommitLength } from "@holdfast/engine";
import {
  assertRefused,
  TestSession,
  openTestSession,
  assertPresent,
  assertSameJson,
  textsOf,
} from "../../fixtures/open-session.ts";
import { blobId } from "@holdfast/protocol";

const changed = () => anEvent("session.changed", { pinned: true });

export const refusalCases: readonly StoreCase[] = [
  {
    title:
      "a message that isn't queued can be neither changed nor removed, and the reason is given",
    async run({ store }) {
      const [chat, other] = [await openTestSession(store), await openTestSession(store)];
      const { messageId } = assertPresent((await chat.commit([anInput()])).input);
      const change = () => anEvent("input.changed", { messageId, text: "else" });
      const remove = () => anEvent("input.removed", { messageId });
      await other.refuses("message_not_found", [remove()]);
      await other.refuses("message_not_found", [change()]);
      await chat.commit([change()]);
      await chat.commit([aUserMessage("else", messageId)]);
      await chat.refuses("input_claimed", [change()]);
      await chat.refuses("input_claimed", [remove()]);
    },
  },
  {
    title: "nothing new is claimed while a cut is pending, and live runs continue",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const lease = await chat.lease("history", undefined, 1_000);
      await chat.commit([aRunState(runId, "claimed")], { under });
      await chat.commit([aRunState(runId, "cancelled")], { under });
      await chat.refuses("history_live", [aRunState(aRunId(), "claimed")], { under });
      await store.leases.release(lease);
      await chat.commit([aRunState(aRunId(), "claimed")], { under });
      await chat.lease("history", undefined, 1_000);
      await advanceClock(2_000);
      await chat.commit([aRunState(aRunId(), "claimed")], { under });
    },
  },
  {
    title: "an accepted message gets its first answer again, whatever its sender expected",
    async run({ store }) {
      const chat = await openTestSession(store);
      const input = { clientId: "c", text: "once" };
      const { head } = await chat.row();
      const first = await chat.commit([anInput(input)], { expect: { head } });
      const again = await chat.commit([anInput(input)], { expect: { head } });
      assertSameJson(again.input, first.input);
      await chat.refuses("idempotency_conflict", [anInput({ ...input, text: "other" })], {
        expect: { head },
      });
    },
  },
  {
    title: "a commit that expects no compaction ignores a live run",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { under } = await chat.startRun();
      await chat.commit([changed()], { expect: { uncompacted: true }, under });
      await chat.lease("compaction");
      await chat.refuses("compaction_live", [changed()], { expect: { uncompacted: true } });
    },
  },
  {
    title: "a commit to a missing session is refused",
    async run({ store }) {
      const chat = new TestSession(store, aSession());
      await chat.refuses("session_not_found", [aUserMessage()]);
    },
  },
  {
    title: "an empty commit, and a creation that isn't the first event, are refused",
    async run({ store }) {
      const chat = await openTestSession(store);
      await chat.refuses("invalid_event", []);
      await chat.refuses("invalid_event", [aUserMessage(), anEvent("session.created", {})]);
    },
  },
  {
    title: "a wrong revision, version, head or epoch is refused, and the right ones pass together",
    async run({ store }) {
      const chat = await openTestSession(store);
      await chat.commit([aUserMessage()]);
      const { revision, version, head, epoch } = await chat.row();
      await chat.refuses("revision_conflict", [changed()], { expect: { revision: revision + 1 } });
      await chat.refuses("revision_conflict", [changed()], { expect: { revision: revision - 1 } });
      await chat.refuses("version_conflict", [changed()], { expect: { version: version + 1 } });
      await chat.refuses("head_moved", [changed()], { expect: { head: toSeq(head - 1) } });
      await chat.refuses("epoch_moved", [changed()], { expect: { epoch: epoch + 1 } });
      await chat.commit([changed()], { expect: { revision, version, head, epoch, idle: true } });
    },
  },
  {
    title: "one of two writers that expect the same revision is refused",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      const { revision } = await chat.row();
      const results = await Promise.all(
        [chat, chat.through(other)].map((writer) =>
          writer.send([changed()], { expect: { revision } }),
        ),
      );
      assertSameJson(results.map((result) => result.status).toSorted(), ["committed", "refused"]);
      assertSameJson((await chat.row()).revision, revision + 1);
      await other.close();
    },
  },
  {
    title: "a compaction advances the epoch, and one that began from an older epoch is refused",
    async run({ store }) {
      const chat = await openTestSession(store);
      const compacted = (epoch: number) =>
        anEvent("context.compacted", {
          epoch,
          covers: { from: toSeq(1), to: toSeq(1) },
          summary: "…",
        });
      await chat.commit([compacted(1)], { expect: { epoch: 0 } });
      assertSameJson((await chat.row()).epoch, 1);
      await chat.refuses("epoch_moved", [compacted(1)], { expect: { epoch: 0 } });
      await chat.commit([anEvent("context.epoch", { epoch: 0 })], { expect: { epoch: 1 } });
      assertSameJson((await chat.row()).epoch, 0);
    },
  },
  {
    title:
      "a commit that needs an idle session is refused while a run is live, in every non-terminal state",
    async run({ store }) {
      const chat = await openTestSession(store);
      const cut = () => [aCut([aRange(1)])];
      const idle = { expect: { idle: true } } as const;
      const runId = aRunId();
      for (const state of ["claimed", "running", "waiting", "paused"] as const) {
        await chat.commit([aRunState(runId, state)]);
        await chat.refuses("run_live", cut(), idle);
      }
      await chat.commit([aRunState(runId, "completed")]);
      await chat.commit(cut(), idle);
      await chat.commit([aRunState(aRunId(), "queued")]);
      await chat.commit(cut(), idle);
    },
  },
  {
    title:
      "a commit that needs an idle session is refused during a compaction, until its lease ends",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const idle = { expect: { idle: true } } as const;
      const lease = await chat.lease("compaction");
      await chat.refuses("compaction_live", [changed()], idle);
      await store.leases.release(lease);
      await chat.commit([changed()], idle);
      await chat.lease("compaction", undefined, 60_000);
      await chat.refuses("compaction_live", [changed()], idle);
      await advanceClock(61_000);
      await chat.commit([changed()], idle);
    },
  },
  {
    title: "an input is accepted once by its client id, and gets its first answer again",
    async run({ store }) {
      const chat = await openTestSession(store);
      const input = { clientId: "c-1", text: "Hello" };
      const first = await chat.commit([anInput(input)]);
      const before = await chat.row();
      const again = await chat.commit([anInput(input)]);
      assertSameJson([again.input, again.repeated], [first.input, true]);
      assertSameJson(first.input?.seq, first.first);
      assertSameJson(await chat.row(), before);
      await chat.refuses("idempotency_conflict", [anInput({ ...input, text: "Other" })]);
      const elsewhere = await openTestSession(store, {}, chat.owner);
      assertSameJson((await elsewhere.commit([anInput(input)])).repeated, undefined);
    },
  },
  {
    title: "a client id stays used after its message was taken, removed or cut",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await chat.commit([anInput({ clientId: "taken" })]);
      const second = await chat.commit([anInput({ clientId: "removed" })]);
      const { messageId } = first.input!;
      await chat.commit([aUserMessage("Hello", messageId)]);
      await chat.commit([anEvent("input.removed", { messageId: second.input!.messageId })]);
      await chat.commit([aCut([])]);
      for (const [clientId, answer] of [
        ["taken", first],
        ["removed", second],
      ] as const) {
        assertSameJson((await chat.commit([anInput({ clientId })])).input, answer.input);
      }
    },
  },
  {
    title: "an accepted input that is sent again by its event ids gets its complete answer",
    async run({ store }) {
      const chat = await openTestSession(store);
      const events = [changed(), anInput()];
      const first = await chat.commit(events);
      assertSameJson(await chat.commit(events), { ...first, repeated: true });
    },
  },
  {
    title: "one input sent by two processes at once is accepted once",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      const both = [chat, chat.through(other)].map((writer) =>
        writer.commit([anInput({ clientId: "c-1" })]),
      );
      const [a, b] = await Promise.all(both);
      assertSameJson(a?.input, b?.input);
      assertSameJson((await chat.snapshot()).inbox.length, 1);
      await other.close();
    },
  },
  {
    title: "an event that names a missing blob, or another owner's, is refused",
    async run({ store }) {
      const chat = await openTestSession(store);
      const missing = blobId.parse(`blob_${"0".repeat(64)}`);
      await chat.refuses("blob_not_found", [anInput({ attachments: [aFile(missing)] })]);
      const put = await store.putBlob(anOwner(), new TextEncoder().encode("theirs"), "text/plain");
      if (put.status !== "stored") throw new Error(put.message);
      await chat.refuses("blob_not_found", [anInput({ attachments: [aFile(put.id)] })]);
    },
  },
  {
    title: "a payload of megabytes is stored completely, and one over the limit is refused",
    async run({ store }) {
      const chat = await openTestSession(store);
      const large = "0123456789abcdef".repeat(125_000);
      await chat.commit([aUserMessage(large)]);
      const [entry] = await chat.entries();
      assertSameJson(textsOf([assertPresent(entry)])[0] === large, true);
      await chat.refuses("payload_too_large", [aUserMessage("x".repeat(maxCommitLength + 1))]);
    },
  },
  {
    title: "creating a session under another owner's id is refused without revealing more",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "private" });
      const otherOwner = { owner: anOwner(), session: chat.session };
      const result = await store.commit({
        ...otherOwner,
        events: [anEvent("session.created", {})],
      });
      assertRefused(result, "session_exists");
      assertSameJson((await chat.row()).title, "private");
    },
  },
];
