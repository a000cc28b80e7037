import { afterAll, beforeAll, describe } from "vitest";

import type { TestDatabase, TestDatabaseFactory } from "./test-database.ts";

/** Declares the tests of a suite for the given store. */
export function contractSuite<Database extends TestDatabase>(
  subject: string,
  declare: (factory: TestDatabaseFactory<Database>) => void,
): (factory: TestDatabaseFactory<Database>) => void {
  return (factory) =>
    describe(`${subject} on ${factory.name}`, () => {
      declare(factory);
    });
}

/** Opens a rig before the tests of a suite and closes it after them. For use inside tests and hooks. */
export function useRig<Rig extends AsyncDisposable>(open: () => Promise<Rig>): Rig {
  let opened: Rig | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());
  return new Proxy({} as Rig, {
    get(_target, name): unknown {
      if (opened === undefined) throw new Error(`${String(name)}: the rig is not open yet.`);
      return Reflect.get(opened, name);
    },
  });
}
