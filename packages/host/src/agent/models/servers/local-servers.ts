import { openProviderConnection } from "../provider-connection.ts";
import { readLmStudioModels } from "./served-model.ts";

const probeLimits = { answerMs: 1_000, silenceMs: 1_000, bytes: 1024 * 1024 };
const probeTimeoutMs = 2_000;
const probeAgeMs = 60_000;

export interface LocalServers {
  /** Probes unless it did within the last minute. Sends no key. */
  probe(): Promise<void>;
  /** LM Studio's base URL, if it answered the last probe. */
  lmStudio(): string | null;
}

/** Probes LM Studio's default address; Ollama's needs no probe. Any other server that listens there is ignored. */
export function createLocalServers(
  baseUrl = "http://127.0.0.1:1234/v1",
  now: () => number = Date.now,
): LocalServers {
  let probedAt = -Infinity;
  let probing: Promise<boolean> = Promise.resolve(false);
  let found = false;
  return {
    async probe() {
      if (now() - probedAt >= probeAgeMs) {
        probedAt = now();
        probing = isLmStudio(baseUrl);
      }
      found = await probing;
    },
    lmStudio: () => (found ? baseUrl : null),
  };
}

async function isLmStudio(baseUrl: string): Promise<boolean> {
  const connection = openProviderConnection(probeLimits);
  try {
    const signal = AbortSignal.timeout(probeTimeoutMs);
    const url = `${baseUrl.replace(/\/v1$/, "")}/api/v0/models`;
    const response = await connection.fetch(url, { signal });
    return response.ok && readLmStudioModels(await response.json()).length > 0;
  } catch {
    return false;
  } finally {
    connection.close();
  }
}
