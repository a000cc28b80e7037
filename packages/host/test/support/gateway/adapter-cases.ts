import assert from "node:assert/strict";

import type { PlatformAdapter, Incoming, ChatAddress } from "../../../src/gateway/adapter.ts";

/** A platform under test control, and what people do and see there. */
export interface AdapterRig {
  readonly adapter: PlatformAdapter;
  /** The direct chat of a person and the bot. */
  readonly place: ChatAddress;
  readonly person: string;
  /** Sends a message as the person; resolves with the platform's id for it. */
  readonly say: (text: string) => Promise<string>;
  readonly sayWithFile: (text: string, name: string, bytes: Uint8Array) => Promise<void>;
  readonly press: (label: string) => Promise<void>;
  /** What the bot shows there now, oldest first, without markup. */
  readonly shown: () => readonly ShownByBot[];
  /** Links that the platform has fetched by itself to show a preview. */
  readonly previewed: () => readonly string[];
  /** The next call that shows something gets this result. */
  readonly meet: (
    trouble: "rate limit" | "outage" | "refusal" | "cut before" | "cut after",
  ) => void;
}

interface ShownByBot {
  readonly id: string;
  readonly text: string;
  readonly buttons: readonly string[];
  readonly file: { readonly name: string; readonly bytes: Uint8Array } | null;
}

interface AdapterCase {
  readonly title: string;
  readonly run: (bed: AdapterRig) => Promise<void>;
}

const soon = () => AbortSignal.timeout(10_000);

let sentMessages = 0;
/** A new one each time. */
const outgoingMessage = () => ({ id: `parcel_${++sentMessages}`, replyTo: null });

/** What every adapter must do on its platform, as far as its capabilities go. */
export const adapterCases: readonly AdapterCase[] = [
  {
    title: "it knows who it is, and its limits are usable",
    async run({ adapter, place }) {
      const { limits, platform } = adapter;
      const me = await adapter.identify(soon());
      assert.equal(me.status, "identified");
      assert.match(platform, /^[a-z]+$/);
      assert.ok(limits.textUnits >= 500 && limits.fileBytes > 0 && limits.callsPerSecond > 0);
      assert.ok(limits.paceMs(place) >= 0);
    },
  },
  {
    title:
      "what is said comes in as it was said, again and again until what follows it is asked for",
    async run(bed) {
      const { adapter } = bed;
      const message = await bed.say("Hello, *bot* _with_ [marks](x)");
      const first = await received(adapter, 0);
      const again = await received(adapter, 0);
      assert.deepEqual(again, first);
      const [came] = first.incoming;
      assert.ok(came?.kind === "message" && first.incoming.length === 1);
      const { text, addressed, address: place, person } = came;
      assert.equal(text, "Hello, *bot* _with_ [marks](x)");
      assert.equal(came.messageId, message);
      assert.deepEqual([addressed, place, person.id], [true, bed.place, bed.person]);
      await bed.say("And this");
      const next = await received(adapter, first.next);
      assert.deepEqual(next.incoming.map(textOf), ["And this"]);
    },
  },
  {
    title:
      "words are shown once, plainly, and changed where edits are declared; the same again is no error",
    async run({ adapter, place, shown }) {
      const sent = await adapter.send(
        place,
        { text: "**One** two_three" },
        outgoingMessage(),
        soon(),
      );
      assert.equal(sent.status, "sent");
      assert.deepEqual(
        shown().map(({ text }) => text),
        ["One two_three"],
      );
      if (sent.status !== "sent" || !adapter.capabilities.edits) return;
      for (const _ of [1, 2]) {
        const words = { text: "Four (and `five`)." };
        const edited = await adapter.edit(place, sent.platformId, words, soon());
        assert.deepEqual(edited, { status: "edited" });
      }
      assert.deepEqual(
        shown().map(({ id, text }) => [id, text]),
        [[sent.platformId, "Four (and five)."]],
      );
    },
  },
  {
    title: "[safety] the platform fetches no link for a preview, neither on send nor on edit",
    async run({ adapter, place, shown, previewed }) {
      const link = {
        text: "See https://evil.example/c?d=pin-4471 and [more](https://evil.example/m)",
      };
      const sent = await adapter.send(place, link, outgoingMessage(), soon());
      assert.ok(sent.status === "sent");
      if (adapter.capabilities.edits) {
        const words = { text: `${link.text} https://evil.example/later` };
        const edited = await adapter.edit(place, sent.platformId, words, soon());
        assert.deepEqual(edited, { status: "edited" });
      }
      assert.match(shown()[0]?.text ?? "", /evil\.example/);
      assert.deepEqual(previewed(), []);
    },
  },
  {
    title: "a text of the declared length is taken whole, whatever stands in it",
    async run({ adapter, place, shown }) {
      const text = "_*[x](y)`~>#+-=|{}.!\\ "
        .repeat(1_000)
        .slice(0, adapter.limits.textUnits)
        .trim();
      assert.equal((await adapter.send(place, { text }, outgoingMessage(), soon())).status, "sent");
      assert.equal(shown().length, 1);
    },
  },
  {
    title: "buttons come back with what they carry, up to the declared size",
    async run(bed) {
      const { adapter, place } = bed;
      if (!adapter.capabilities.buttons) return;
      const data = "d".repeat(adapter.limits.buttonBytes);
      const words = { text: "Well?", buttons: [[{ label: "Yes", data }]] };
      assert.equal((await adapter.send(place, words, outgoingMessage(), soon())).status, "sent");
      assert.deepEqual(bed.shown()[0]?.buttons, ["Yes"]);
      await bed.press("Yes");
      const [came] = (await received(adapter, 0)).incoming;
      assert.ok(came?.kind === "press");
      assert.deepEqual([came.data, came.person.id, came.address], [data, bed.person, place]);
      // A message that can be edited must be identified.
      if (adapter.capabilities.edits) assert.equal(came.messageId, bed.shown()[0]?.id);
      await adapter.acknowledgePress(came.press, "Thank you.", soon());
    },
  },
  {
    title: "files go both ways byte by byte",
    async run(bed) {
      const { adapter, place } = bed;
      if (!adapter.capabilities.files) return;
      const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256);
      const file = { kind: "file", name: "a b.bin", mediaType: "application/zip", bytes } as const;
      assert.equal((await adapter.sendFile(place, file, outgoingMessage(), soon())).status, "sent");
      const [shown] = bed.shown();
      assert.equal(shown?.file?.name, "a b.bin");
      assert.ok(Buffer.from(bytes).equals(shown.file.bytes));
      await bed.sayWithFile("Look", "in.bin", bytes);
      const [came] = (await received(adapter, 0)).incoming;
      assert.ok(came?.kind === "message");
      const [incoming] = came.files;
      assert.ok(incoming !== undefined);
      assert.deepEqual([incoming.name, incoming.size, came.text], ["in.bin", 70_000, "Look"]);
      const fetched = await adapter.fetchFile(incoming, soon());
      assert.ok(fetched.status === "fetched" && Buffer.from(bytes).equals(fetched.bytes));
      const large = { ...incoming, size: adapter.limits.fileBytes + 1 };
      assert.deepEqual(await adapter.fetchFile(large, soon()), { status: "too_large" });
    },
  },
  {
    title: "what is sent again under its id is shown once, where that is declared",
    async run({ adapter, place, shown }) {
      const twice = outgoingMessage();
      for (const _ of [1, 2]) {
        const sent = await adapter.send(place, { text: "Only once" }, twice, soon());
        assert.equal(sent.status, "sent");
      }
      assert.equal(shown().length, adapter.capabilities.repeats === "dropped" ? 1 : 2);
    },
  },
  ...(
    [
      ["rate limit", "later", 0],
      ["outage", "later", 0],
      ["refusal", "refused", 0],
      ["cut before", "unknown", 0],
      ["cut after", "unknown", 1],
    ] as const
  ).map(([trouble, status, shows]): AdapterCase => ({
    title: `a ${trouble} is told as ${status}, and nothing is sent by itself again`,
    async run({ adapter, place, meet, shown }) {
      meet(trouble);
      const sent = await adapter.send(place, { text: "Once" }, outgoingMessage(), soon());
      assert.equal(sent.status, status);
      assert.equal(shown().length, shows);
      assert.equal(
        (await adapter.send(place, { text: "Twice" }, outgoingMessage(), soon())).status,
        "sent",
      );
      assert.equal(shown().length, shows + 1);
    },
  })),
];

async function received(adapter: PlatformAdapter, cursor: number) {
  const page = await adapter.receive(cursor, "wait", soon());
  assert.ok(page.status === "received");
  return page;
}

function textOf(incoming: Incoming): string {
  return incoming.kind === "press" ? "" : incoming.text;
}
