import { anOwner } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { assertSameJson } from "../../fixtures/open-session.ts";

export const registerCases: readonly StoreCase[] = [
  {
    title: "a value of the register is changed by whoever has seen it last, and by nobody else",
    async run({ store, open }) {
      const [owner, key] = [anOwner(), "poller/telegram:1"];
      const other = await open();
      assertSameJson(await other.register.read(owner, key), null);
      const first = await store.register.put({ owner, key, value: "1", expect: 0 });
      assertSameJson(first.status, "put");
      const late = await other.register.put({ owner, key, value: "x", expect: 0 });
      assertSameJson([late.status, late.status === "moved" && late.row?.value], ["moved", "1"]);
      const missing = { owner, key: "nobody", value: "x", expect: 3 };
      assertSameJson(await other.register.put(missing), { status: "moved", row: null });
      const second = await other.register.put({ owner, key, value: "2", expect: 1 });
      const row = await store.register.read(owner, key);
      assertSameJson(second, { status: "put", row });
      assertSameJson([row?.value, row?.revision], ["2", 2]);
      assertSameJson(await store.register.read(anOwner(), key), null);
      await other.close();
    },
  },
  {
    title: "of those who change a value of the register at once exactly one does",
    async run({ store, open }) {
      const [owner, key] = [anOwner(), "poller/telegram:2"];
      const other = await open();
      for (const expect of [0, 1]) {
        const rivals = [store, other, store, other].map(({ register }, index) =>
          register.put({ owner, key, value: `${index}`, expect }),
        );
        const ended = (await Promise.all(rivals)).map(({ status }) => status).toSorted();
        assertSameJson(ended, ["moved", "moved", "moved", "put"]);
      }
      assertSameJson((await store.register.read(owner, key))?.revision, 2);
      await other.close();
    },
  },
  {
    title: "the register lists what begins with a prefix, by key, and of one owner alone",
    async run({ store }) {
      const owner = anOwner();
      for (const key of ["person/b", "person/a", "person_x", "poller/a"])
        await store.register.put({ owner, key, value: key, expect: 0 });
      const keys = async (prefix: string, limit = 9) =>
        (await store.register.list(owner, prefix, limit)).map(({ key }) => key);
      assertSameJson(await keys("person/"), ["person/a", "person/b"]);
      assertSameJson(await keys("person/", 1), ["person/a"]);
      assertSameJson((await keys("")).length, 4);
      assertSameJson(await store.register.list(anOwner(), "", 9), []);
    },
  },
];
