/** What goes wrong with a call. */
export type Fault =
  | { readonly kind: "limited"; readonly seconds: number }
  | { readonly kind: "error"; readonly code: number; readonly description: string }
  /** Not even the platform's own words. */
  | { readonly kind: "html"; readonly code: number }
  /** The connection breaks before anything is done, or after. */
  | { readonly kind: "cut"; readonly when: "before" | "after" };

type Watch = (method: string, payload: Readonly<Record<string, unknown>>) => Promise<void> | void;

/** Faults that wait for their call, first come first, and those who want to know of calls. */
export class FaultQueue {
  readonly #waiting: { readonly method: string; readonly fault: Fault }[] = [];
  /** Before a call is carried out; it waits for as long as this takes. */
  before: Watch = () => {};
  /** After it was carried out, before its answer goes out. */
  after: Watch = () => {};

  add(method: string, fault: Fault, times = 1): void {
    for (let each = 0; each < times; each += 1) this.#waiting.push({ method, fault });
  }

  async next(method: string, payload: Readonly<Record<string, unknown>>): Promise<Fault | null> {
    await this.before(method, payload);
    const index = this.#waiting.findIndex((each) => each.method === method);
    return index === -1 ? null : (this.#waiting.splice(index, 1)[0]?.fault ?? null);
  }

  async passed(method: string, payload: Readonly<Record<string, unknown>>): Promise<void> {
    await this.after(method, payload);
  }
}
