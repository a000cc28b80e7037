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
