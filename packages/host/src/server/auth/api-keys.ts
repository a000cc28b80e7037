import { randomBytes } from "node:crypto";
import type { Store } from "@holdfast/engine";
import { type OwnerId, ownerId } from "@holdfast/protocol";
import { z } from "zod";
import { type CachedRow, openCachedRegister } from "../../util/cached-register.ts";
import { createSecretMatcher, digestSecret, generateSecret } from "./secret-digest.ts";

const storedKey = z.object({
  id: z.string(),
  name: z.string(),
  /** The rights profile that it names. */
  profile: z.string(),
  digest: z.string(),
  createdAt: z.number(),
  lastUsedAt: z.number().nullable(),
  revokedAt: z.number().nullable(),
});
type StoredApiKey = z.infer<typeof storedKey>;
export type ApiKey = Omit<StoredApiKey, "digest">;

/** Named keys of programs, stored as digests, shared by all hosts on the store. */
export interface ApiKeys {
  /** Oldest first, revoked ones too. */
  list(): Promise<readonly ApiKey[]>;
  /** The secret is shown once and stored nowhere. */
  create(
    name: string,
    profile: string,
  ): Promise<{ readonly key: ApiKey; readonly secret: string } | "name_taken" | "too_many">;
  revoke(id: string): Promise<"revoked" | "not_found">;
  /** The key whose secret this is, if it is not revoked. Rejects with a `StoreFailure`. */
  find(secret: string): Promise<ActiveApiKey | undefined>;
  /** Whose sessions were made with the keys that are not revoked. */
  owners(): Promise<readonly OwnerId[]>;
  /** The rights profile of the key whose sessions have this owner: `null` if it is gone or revoked. */
  profileOf(owner: OwnerId): Promise<string | null>;
}

export interface ActiveApiKey {
  readonly key: ApiKey;
  /** A key's sessions are its own. */
  readonly owner: OwnerId;
  /** Aborted when it is revoked. */
  readonly revoked: AbortSignal;
  readonly isStillValid: () => boolean;
}

export interface ApiKeysDeps {
  readonly register: Store["register"];
  readonly owner: OwnerId;
  readonly now?: () => number;
}

const maxKeys = 500;
/** So that not every request writes. */
const lastUsedStepMs = 60_000;
const ownerPrefix = "key:";
const secretForm = /^hfk_([0-9a-f]{16})_([\w-]{43})$/;

export function openApiKeys({ register, owner, now = Date.now }: ApiKeysDeps): ApiKeys {
  const revocations = new Map<string, AbortController>();
  const rows = openCachedRegister({
    register,
    owner,
    prefix: "api-key/",
    schema: storedKey,
    maxRows: maxKeys,
    now,
    onChange(all) {
      for (const { value } of all) if (value?.revokedAt != null) revocations.get(value.id)?.abort();
    },
  });

  const find = (id: string): StoredApiKey | undefined =>
    rows.rows().find(({ value }) => value?.id === id)?.value ?? undefined;

  function signalOf(id: string): AbortSignal {
    const known = revocations.get(id) ?? new AbortController();
    revocations.set(id, known);
    return known.signal;
  }

  function edit(id: string, change: (key: StoredApiKey) => StoredApiKey | null): Promise<boolean> {
    return rows.change((all) => {
      const row = all.find(({ value }) => value?.id === id);
      const value = row?.value == null ? null : change(row.value);
      return row === undefined || value === null ? null : { name: row.name, value };
    });
  }

  /** Keeps when it was last used, about to the minute. Nobody waits for that. */
  function noteUse({ id, lastUsedAt }: StoredApiKey): void {
    const at = now();
    if (lastUsedAt !== null && at - lastUsedAt < lastUsedStepMs) return;
    void edit(id, (key) =>
      key.lastUsedAt !== null && at - key.lastUsedAt < lastUsedStepMs
        ? null
        : { ...key, lastUsedAt: at },
    ).catch(() => undefined);
  }

  return {
    async list() {
      await rows.reload();
      return rows
        .rows()
        .flatMap(({ value }) => (value === null ? [] : [viewOf(value)]))
        .toSorted((a, b) => a.createdAt - b.createdAt);
    },

    async create(name, profile) {
      const id = randomBytes(8).toString("hex");
      const secret = `hfk_${id}_${generateSecret()}`;
      const created = { id, name, profile, createdAt: now(), lastUsedAt: null, revokedAt: null };
      let refusal: "name_taken" | "too_many" | undefined;
      await rows.change((all) => {
        refusal = refusalFor(all, name);
        if (refusal !== undefined) return null;
        const row = all.length < maxKeys ? id : (oldestRevoked(all)?.name ?? id);
        return { name: row, value: { ...created, digest: digestSecret(secret) } };
      });
      return refusal ?? { key: created, secret };
    },

    async revoke(id) {
      const isRevoked = await edit(id, (key) =>
        key.revokedAt === null ? { ...key, revokedAt: now() } : null,
      );
      return isRevoked ? "revoked" : "not_found";
    },

    async find(secret) {
      const id = secretForm.exec(secret)?.[1];
      if (id === undefined) return undefined;
      await rows.refresh();
      // It may have been made at another host a moment ago.
      if (find(id) === undefined) await rows.reload();
      const key = find(id);
      const isSecret = createSecretMatcher(key?.digest ?? "");
      if (key === undefined || key.revokedAt !== null || !isSecret(digestSecret(secret)))
        return undefined;
      noteUse(key);
      return {
        key: viewOf(key),
        owner: ownerId.parse(ownerPrefix + id),
        revoked: signalOf(id),
        isStillValid() {
          void rows.refresh();
          return find(id)?.revokedAt === null;
        },
      };
    },

    async owners() {
      await rows.refresh();
      return rows
        .rows()
        .flatMap(({ value }) =>
          value?.revokedAt === null ? [ownerId.parse(ownerPrefix + value.id)] : [],
        );
    },

    async profileOf(keyOwner) {
      const id = keyOwner.slice(ownerPrefix.length);
      await rows.refresh();
      if (find(id) === undefined) await rows.reload();
      const key = find(id);
      return key?.revokedAt === null ? key.profile : null;
    },
  };
}

export function isKeyOwner(owner: OwnerId): boolean {
  return owner.startsWith(ownerPrefix);
}

function refusalFor(
  rows: readonly CachedRow<StoredApiKey>[],
  name: string,
): "name_taken" | "too_many" | undefined {
  const active = rows.flatMap(({ value }) => (value?.revokedAt === null ? [value] : []));
  if (active.some((key) => key.name === name)) return "name_taken";
  return active.length >= maxKeys ? "too_many" : undefined;
}

function oldestRevoked(rows: readonly CachedRow<StoredApiKey>[]) {
  const revoked = rows.filter(({ value }) => value?.revokedAt !== null);
  return revoked.toSorted((a, b) => (a.value?.revokedAt ?? 0) - (b.value?.revokedAt ?? 0))[0];
}

function viewOf({ id, name, profile, createdAt, lastUsedAt, revokedAt }: StoredApiKey): ApiKey {
  return { id, name, profile, createdAt, lastUsedAt, revokedAt };
}
