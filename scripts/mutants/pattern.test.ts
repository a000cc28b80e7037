import { expect, test } from "vitest";

import { createFolder } from "@holdfast/testing/process/folder";
import type { Edit, Mutant } from "./mutant.ts";
import { plant, StaleFault } from "./plant.ts";
import { Sources } from "./sources.ts";

const file = "packages/engine/src/door.ts";

const door = `
  export class Door {
    #open = false;
    enter(guest: Guest | null, now: number): string {
      if (guest === null) return "nobody";
      if (guest.until <= now && guest.name !== "") return this.#refuse(guest, "late");
      this.#open = true;
      return this.#refuse(guest, \`at \${now}\`);
    }
  }
  export function listSql(place: string): string {
    return \`SELECT id
      FROM guests WHERE \${place}.id = ?\`;
  }`;

/** The new text of the file that the edit changes. */
function apply(edit: Edit, text = door, files: Record<string, string> = {}): string {
  const sources = Sources.of(createFolder({ [file]: text, ...files }));
  const mutant: Mutant = { ...edit, fault: "a fault", tests: "door.test.ts" };
  const [changed] = plant(sources, mutant).values();
  return changed?.replaceAll(/\s+/g, " ") ?? "";
}

test("a pattern matches whatever the local variables and private members are called", () => {
  const edit: Edit = {
    in: "engine/Door.enter",
    replace: 'return this.$refuse($guest, "late");',
    by: 'return this.$refuse(null, "late");',
  };
  expect(apply(edit)).toContain('return this.#refuse(null, "late");');
  const renamed = door.replaceAll("guest", "visitor").replaceAll("#refuse", "#turnAway");
  expect(apply(edit, renamed)).toContain('return this.#turnAway(null, "late");');
});

test("a repeated placeholder matches only the same code", () => {
  const edit: Edit = { in: "engine/Door.enter", drop: "$guest.$a <= $now && $guest.$b !== $guest" };
  expect(() => apply(edit)).toThrow("0 places like");
});

test.each<[string, string, string, string]>([
  ["a statement", 'if ($guest === null) return "nobody";', "if (guest === null)", ""],
  ["an operand", "$guest.until <= $now", "guest.until <= now &&", 'if ((guest.name !== ""))'],
  ["an argument", '"late"', '"late"', "this.#refuse(guest, )"],
])("drop removes %s", (_, drop, gone, left) => {
  const changed = apply({ in: "engine/Door.enter", drop });
  expect(changed).not.toContain(gone);
  expect(changed).toContain(left);
});

test("given binds names from elsewhere in the symbol", () => {
  const changed = apply({
    in: "engine/Door.enter",
    replace: "this.$open = true;",
    by: "this.$open = $now > 0;",
    given: ["$guest.until <= $now"],
  });
  expect(changed).toContain("this.#open = now > 0;");
});

test("text matches in a template literal across line breaks", () => {
  const changed = apply({ in: "engine/listSql", text: "SELECT id FROM guests", by: "SELECT 1" });
  expect(changed).toContain("return `SELECT 1 WHERE ${place}.id = ?`");
});

test("an ambiguous symbol is resolved by the match, or by naming its file", () => {
  const other = "packages/engine/src/other.ts";
  const edit: Edit = { in: "engine/listSql", text: "FROM guests", by: "FROM nobody" };
  const unlike = { [other]: "export const listSql = `SELECT 2`;" };
  expect(apply(edit, door, unlike)).toContain("FROM nobody");
  expect(() => apply(edit, door, { [other]: door })).toThrow("2 texts like `FROM guests`");
  const named: Edit = { ...edit, in: "engine/door.ts/listSql" };
  expect(apply(named, door, { [other]: door })).toContain("FROM nobody");
});

test.each<[string, Edit, string]>([
  [
    "its symbol is gone",
    { in: "engine/Window.enter", drop: '"late"' },
    "engine/Window.enter: there is no such symbol.",
  ],
  [
    "its code is gone",
    { in: "engine/Door.enter", drop: '"early"' },
    'engine/Door.enter: 0 places like `"early"`, and one is needed.',
  ],
  [
    "its code appears twice",
    { in: "engine/Door.enter", drop: "this.$refuse($$args)" },
    "engine/Door.enter: 2 places like `this.$refuse($$args)`, and one is needed.",
  ],
  [
    "it changes nothing",
    { in: "engine/Door.enter", replace: "this.$open = true;", by: "this.$open  =  true;" },
    "engine/Door.enter: the edit changes nothing in packages/engine/src/door.ts.",
  ],
  [
    "the result does not parse",
    { in: "engine/Door.enter", replace: "this.$open = true;", by: "this.$open = ;" },
    "engine/Door.enter: packages/engine/src/door.ts does not parse any more: Unexpected token",
  ],
])("a fault is stale if %s", (_, edit, message) => {
  expect(() => apply(edit)).toThrow(new StaleFault(message));
});
