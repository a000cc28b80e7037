import type { Fetch } from "@holdfast/client";
import { z } from "zod";
import type { PageKey } from "./page-key.ts";

/** The requests of the page before and around sign-in. Failures are values: nothing here throws. */
export interface HostClient {
  health(): Promise<HealthAnswer>;
  principal(): Promise<"signed-in" | "signed-out" | "unreachable">;
  signIn(proof: { code: string } | { token: string }): Promise<SignInAnswer>;
  signOut(): Promise<void>;
}

/** A host that answers may still be in trouble: `trouble` is its own sentence about that. */
export type HealthAnswer =
  | { readonly kind: "answers"; readonly version: string; readonly trouble?: string }
  | { readonly kind: "unreachable" };

export type SignInAnswer = "signed-in" | "refused" | "unreachable";

const requestTimeoutMs = 10_000;
/** Loose: an older host sends no reasons, and a newer one may send more fields. */
const healthBody = z.looseObject({ version: z.string(), reasons: z.array(z.string()).default([]) });

const principalBody = z.looseObject({ linkKey: z.string().optional() });

export interface HostClientDeps {
  /** Sends the page key. */
  readonly send: Fetch;
  readonly pageKey: PageKey;
  readonly setLinkKey: (key: string | undefined) => void;
}

/** Paths are relative to the page's own URL, so a base path needs no setting here. */
export function createHostClient(
  baseUrl: string,
  { send, pageKey, setLinkKey }: HostClientDeps,
): HostClient {
  /** A sign-in from before there were page keys is bound to this page, which can succeed once. */
  let mayBind = true;

  async function request(path: string, init?: RequestInit): Promise<Response | undefined> {
    try {
      const signal = AbortSignal.timeout(requestTimeoutMs);
      return await send(new URL(path, baseUrl).href, { ...init, signal });
    } catch {
      return undefined;
    }
  }

  function post(path: string, body?: unknown): Promise<Response | undefined> {
    if (body === undefined) return request(path, { method: "POST" });
    const headers = { "content-type": "application/json" };
    return request(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async function readPrincipal(): Promise<Response | undefined> {
    const response = await request("api/principal");
    if (response?.status !== 401 || !mayBind) return response;
    mayBind = false;
    const bound = await post("api/login", { pageKey: pageKey.value() });
    return bound?.ok ? request("api/principal") : response;
  }

  return {
    async health() {
      const body: unknown = await (await request("health"))?.json().catch(() => undefined);
      const parsed = healthBody.safeParse(body);
      if (!parsed.success) return { kind: "unreachable" };
      const { version, reasons } = parsed.data;
      const [trouble] = reasons;
      return { kind: "answers", version, ...(trouble !== undefined && { trouble }) };
    },
    async principal() {
      const response = await readPrincipal();
      if (response?.status === 401) return "signed-out";
      if (!response?.ok) return "unreachable";
      const body: unknown = await response.json().catch(() => undefined);
      setLinkKey(principalBody.safeParse(body).data?.linkKey);
      return "signed-in";
    },
    async signIn(proof) {
      const response = await post("api/login", { ...proof, pageKey: pageKey.value() });
      if (response?.ok) return "signed-in";
      return response !== undefined && response.status < 500 ? "refused" : "unreachable";
    },
    async signOut() {
      await post("api/logout");
      pageKey.forget();
    },
  };
}

/** Removes the one-time code from the URL at once: otherwise it ends up in history, bookmarks and shared screens. */
export function consumeSignInCode(location: Location, history: History): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("signin");
  if (code === null || code === "") return undefined;
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export type SignInProblem = "link-refused" | "token-refused" | "unreachable";

export type HostState =
  | { readonly kind: "loading" }
  | { readonly kind: "unreachable" }
  | { readonly kind: "signed-out"; readonly version: string; readonly trouble?: SignInProblem }
  | SignedIn;

interface SignedIn {
  readonly kind: "signed-in";
  readonly version: string;
  readonly answering: boolean;
  /** The sentence of a host that answers but is in trouble. */
  readonly trouble?: string;
}

/** How long the page waits between two checks, by state. */
export const pollMs: Readonly<Record<HostState["kind"], number>> = {
  loading: 0,
  unreachable: 2_000,
  "signed-out": 30_000,
  "signed-in": 15_000,
};

export interface HostStore {
  readonly read: () => HostState;
  readonly subscribe: (listener: () => void) => () => void;
  readonly check: () => Promise<void>;
  readonly signInWithCode: (code: string) => Promise<void>;
  readonly signInWithToken: (token: string) => Promise<void>;
  readonly signOut: () => Promise<void>;
}

export function createHostStore(client: HostClient): HostStore {
  let state: HostState = { kind: "loading" };
  const listeners = new Set<() => void>();
  /** Grows with each sign-in and sign-out: the result of a check that started before one is stale. */
  let revision = 0;

  function setState(next: HostState): void {
    state = next;
    listeners.forEach((listener) => listener());
  }

  async function queryHost(): Promise<HostState> {
    const health = await client.health();
    const principal = health.kind === "answers" ? await client.principal() : "unreachable";
    if (health.kind === "unreachable" || principal === "unreachable") return afterNoAnswer(state);
    const { version, trouble: hostTrouble } = health;
    if (principal === "signed-in")
      return {
        kind: "signed-in",
        version,
        answering: true,
        ...(hostTrouble !== undefined && { trouble: hostTrouble }),
      };
    const trouble = state.kind === "signed-out" ? state.trouble : undefined;
    return { kind: "signed-out", version, ...(trouble === undefined ? {} : { trouble }) };
  }

  async function check(): Promise<void> {
    const startedAt = revision;
    const next = await queryHost();
    if (startedAt === revision) setState(next);
  }

  async function signIn(
    proof: { code: string } | { token: string },
    refusal: SignInProblem,
  ): Promise<void> {
    revision += 1;
    const answer = await client.signIn(proof);
    const next = await queryHost();
    const failed = answer !== "signed-in" && next.kind === "signed-out";
    const trouble = answer === "refused" ? refusal : "unreachable";
    setState(failed ? { ...next, trouble } : next);
  }

  return {
    read: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    check,
    signInWithCode: (code) => signIn({ code }, "link-refused"),
    signInWithToken: (token) => signIn({ token }, "token-refused"),
    async signOut() {
      revision += 1;
      await client.signOut();
      setState(await queryHost());
    },
  };
}

/** A signed-in page stays as it is; its status says that the host does not answer. */
function afterNoAnswer(state: HostState): HostState {
  return state.kind === "signed-in" ? { ...state, answering: false } : { kind: "unreachable" };
}
