import { z } from "zod";

/** What the page asks of its host. Nothing here throws: an answer is always one of these. */
export interface HostClient {
  health(): Promise<HealthAnswer>;
  principal(): Promise<"signed-in" | "signed-out" | "unreachable">;
  signIn(proof: { code: string } | { token: string }): Promise<SignInAnswer>;
  signOut(): Promise<void>;
}

/** A host that answers may still lack something: `trouble` says what, in its own words. */
export type HealthAnswer =
  | { readonly kind: "answers"; readonly version: string; readonly trouble?: string }
  | { readonly kind: "unreachable" };

export type SignInAnswer = "signed-in" | "refused" | "unreachable";

const requestTimeoutMs = 10_000;
/** Loose: an older host tells no reasons, a newer one may tell more. */
const healthBody = z.looseObject({ version: z.string(), reasons: z.array(z.string()).default([]) });

/** Addresses are relative to the page's own, so a base path needs no setting here. */
export function createHostClient(base: string, fetchIt: typeof fetch): HostClient {
  async function ask(path: string, init?: RequestInit): Promise<Response | undefined> {
    try {
      const signal = AbortSignal.timeout(requestTimeoutMs);
      return await fetchIt(new URL(path, base), { ...init, signal });
    } catch {
      return undefined;
    }
  }

  function post(path: string, body?: unknown): Promise<Response | undefined> {
    if (body === undefined) return ask(path, { method: "POST" });
    const headers = { "content-type": "application/json" };
    return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  return {
    async health() {
      const body: unknown = await (await ask("health"))?.json().catch(() => undefined);
      const read = healthBody.safeParse(body);
      if (!read.success) return { kind: "unreachable" };
      const { version, reasons } = read.data;
      const [trouble] = reasons;
      return { kind: "answers", version, ...(trouble !== undefined && { trouble }) };
    },
    async principal() {
      const answer = await ask("api/principal");
      if (answer?.status === 401) return "signed-out";
      return answer?.ok ? "signed-in" : "unreachable";
    },
    async signIn(proof) {
      const answer = await post("api/login", proof);
      if (answer?.ok) return "signed-in";
      return answer !== undefined && answer.status < 500 ? "refused" : "unreachable";
    },
    async signOut() {
      await post("api/logout");
    },
  };
}

/**
 * Takes the one-time code out of the address, at once: what stays there ends up in the history, in
 * bookmarks and on shared screens.
 */
export function consumeSignInCode(place: Location, history: History): string | undefined {
  const code = new URLSearchParams(place.hash.slice(1)).get("signin");
  if (code === null || code === "") return undefined;
  history.replaceState(null, "", place.pathname + place.search);
  return code;
}

export type SignInProblem = "link-refused" | "token-refused" | "unreachable";

/** What the page shows. */
export type HostState =
  | { readonly kind: "loading" }
  | { readonly kind: "unreachable" }
  | { readonly kind: "signed-out"; readonly version: string; readonly trouble?: SignInProblem }
  | SignedIn;

interface SignedIn {
  readonly kind: "signed-in";
  readonly version: string;
  readonly answering: boolean;
  /** What an answering host lacks, in its own words. */
  readonly trouble?: string;
}

/** How long until the host is asked again. */
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
  /** Grows with every act of the person: the answer to a check that began before it is stale. */
  let acts = 0;

  function show(next: HostState): void {
    state = next;
    listeners.forEach((listener) => listener());
  }

  async function look(): Promise<HostState> {
    const health = await client.health();
    const principal = health.kind === "answers" ? await client.principal() : "unreachable";
    if (health.kind === "unreachable" || principal === "unreachable") return afterNoAnswer(state);
    const { version, trouble: lack } = health;
    if (principal === "signed-in")
      return {
        kind: "signed-in",
        version,
        answering: true,
        ...(lack !== undefined && { trouble: lack }),
      };
    const trouble = state.kind === "signed-out" ? state.trouble : undefined;
    return { kind: "signed-out", version, ...(trouble === undefined ? {} : { trouble }) };
  }

  async function check(): Promise<void> {
    const began = acts;
    const next = await look();
    if (began === acts) show(next);
  }

  async function signIn(
    proof: { code: string } | { token: string },
    refusal: SignInProblem,
  ): Promise<void> {
    acts += 1;
    const answer = await client.signIn(proof);
    const next = await look();
    const failed = answer !== "signed-in" && next.kind === "signed-out";
    const trouble = answer === "refused" ? refusal : "unreachable";
    show(failed ? { ...next, trouble } : next);
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
      acts += 1;
      await client.signOut();
      show(await look());
    },
  };
}

/** Who is signed in keeps the page as it stands; the status says that the host is silent. */
function afterNoAnswer(state: HostState): HostState {
  return state.kind === "signed-in" ? { ...state, answering: false } : { kind: "unreachable" };
}
