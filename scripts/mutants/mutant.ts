/**
 * A declaration by package and symbol, whatever its file: `engine/AgentCache.borrow`. If several declarations have
 * that name, the edit must match in exactly one of them; where it matches in more, add the file:
 * `engine/cache.ts/AgentCache.borrow`. SQL files are named directly: `store/0002-leases.sql`.
 */
export type Where = `${"protocol" | "client" | "engine" | "store" | "host" | "testing"}/${string}`;

/** One change to the sources. `drop`, `replace` and `given` are patterns: see `Pattern`. */
export type Edit = { readonly in: Where } &
  /** Removes a statement, an operand, an argument, an element or a property. */
  (
    | { readonly drop: string }
    /** In `by`, `$name` becomes what it matched and `$&` the whole match. `given` binds further names. */
    | { readonly replace: string; readonly by: string; readonly given?: readonly string[] }
    /** Edits the text of a string or template literal. Any white space matches any other. */
    | { readonly text: string; readonly by: string }
    /** Adds a member to a class. */
    | { readonly member: string; readonly given?: readonly string[] }
    /** Adds an import to the file that declares the symbol. */
    | { readonly import: string }
  );

export interface Fault {
  readonly fault: string;
  /** The contract line that the fault breaks: a test with it in its title must fail. Without one, any test. */
  readonly line?: string;
  /** Where a second guard would hide the fault, it is removed too. */
  readonly also?: readonly Edit[];
  /** The test file that must notice: its name, with as many of its folders as make it unique. */
  readonly tests: string;
}

/** A plausible bug and the tests that must notice it. */
export type Mutant = Edit & Fault;
