import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

/**
 * The quick router gives all of its paths up to the thorough one as soon as it cannot tell two of them apart, as it cannot
 * with `/api/secrets/:provider` and `/api/secrets/mcp/:name`. Each method has a router of its own, so that those two, which
 * are put and deleted, cost nothing to who reads.
 */
export class RouterByMethod<T> implements Router<T> {
  readonly name = "RouterByMethod";
  readonly #added: [method: string, path: string, handler: T][] = [];
  readonly #routers = new Map<string, Router<T>>();

  add(method: string, path: string, handler: T): void {
    this.#added.push([method, path, handler]);
    this.#routers.clear();
  }

  match(method: string, path: string): Result<T> {
    const router = this.#routers.get(method) ?? this.#routerFor(method);
    return router.match(method, path);
  }

  #routerFor(method: string): Router<T> {
    const router = new SmartRouter<T>({ routers: [new RegExpRouter(), new TrieRouter()] });
    for (const [of, path, handler] of this.#added)
      if (of === method || of === "ALL") router.add(of, path, handler);
    this.#routers.set(method, router);
    return router;
  }
}
