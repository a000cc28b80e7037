import type { Failed, Register, RegisterRow } from "@holdfast/engine";
import {
  builtInProfiles,
  type OwnerId,
  profileName,
  type RightsProfile,
  rightsProfile,
  type RightsSubject,
  rightsSubject,
} from "@holdfast/protocol";
import { z } from "zod";

export interface RightsAssignment {
  readonly subject: RightsSubject;
  readonly profile: string;
}

/** The rights profiles of an owner, and who has which. They are rows of the store, so they hold on every node. */
export interface RightsStore {
  /** Built-in ones first. */
  profiles(owner: OwnerId): Promise<readonly RightsProfile[]>;
  profile(owner: OwnerId, name: string): Promise<RightsProfile | null>;
  put(owner: OwnerId, profile: RightsProfile): Promise<"kept" | "built_in" | "too_many" | Failed>;
  /** `in_use`: somebody has it. */
  remove(
    owner: OwnerId,
    name: string,
  ): Promise<"removed" | "built_in" | "in_use" | "not_found" | Failed>;
  assignments(owner: OwnerId): Promise<readonly RightsAssignment[]>;
  assigned(owner: OwnerId, subject: RightsSubject): Promise<string | null>;
  /** `null` takes it back: the subject then has its default. */
  assign(
    owner: OwnerId,
    subject: RightsSubject,
    profile: string | null,
  ): Promise<"kept" | "not_found" | "too_many" | Failed>;
}

const profilePrefix = "rights/";
const assignmentPrefix = "rights-of/";
const maxProfiles = 100;
const maxAssignments = 1_000;
const maxAttempts = 20;

const assignmentRow = z.object({ subject: rightsSubject, profile: profileName });

const builtIn: readonly RightsProfile[] = Object.values(builtInProfiles).map((profile) =>
  rightsProfile.parse({ ...profile, tools: [...profile.tools] }),
);

export function openRightsStore(register: Register): RightsStore {
  /** The register keeps every row: one that was removed holds `null`. */
  async function write(owner: OwnerId, key: string, value: string): Promise<"kept" | Failed> {
    for (let attempt = 0; ; attempt += 1) {
      const row = await register.read(owner, key);
      if (row?.value === value) return "kept";
      const put = await register.put({ owner, key, value, expect: row?.revision ?? 0 });
      if (put.status === "put") return "kept";
      if (put.status === "failed") return put;
      if (attempt === maxAttempts)
        return { status: "failed", code: "store_busy", message: "It is being changed elsewhere." };
    }
  }

  async function hasRoom(owner: OwnerId, prefix: string, key: string, max: number) {
    const rows = await register.list(owner, prefix, max);
    return rows.length < max || rows.some((row) => row.key === key);
  }

  const store: RightsStore = {
    async profiles(owner) {
      const rows = await register.list(owner, profilePrefix, maxProfiles);
      return [...builtIn, ...rows.flatMap((row) => decode(rightsProfile, row))];
    },
    async profile(owner, name) {
      const known = builtIn.find((profile) => profile.name === name);
      if (known !== undefined) return known;
      const row = await register.read(owner, profilePrefix + name);
      return row === null ? null : (decode(rightsProfile, row)[0] ?? null);
    },
    async put(owner, profile) {
      if (isBuiltIn(profile.name)) return "built_in";
      const key = profilePrefix + profile.name;
      if (!(await hasRoom(owner, profilePrefix, key, maxProfiles))) return "too_many";
      return write(owner, key, JSON.stringify(profile));
    },
    async remove(owner, name) {
      if (isBuiltIn(name)) return "built_in";
      if ((await store.profile(owner, name)) === null) return "not_found";
      const assignments = await store.assignments(owner);
      if (assignments.some(({ profile }) => profile === name)) return "in_use";
      const written = await write(owner, profilePrefix + name, "null");
      return written === "kept" ? "removed" : written;
    },
    async assignments(owner) {
      const rows = await register.list(owner, assignmentPrefix, maxAssignments);
      return rows.flatMap((row) => decode(assignmentRow, row));
    },
    async assigned(owner, subject) {
      const row = await register.read(owner, assignmentPrefix + subject);
      return row === null ? null : (decode(assignmentRow, row)[0]?.profile ?? null);
    },
    async assign(owner, subject, profile) {
      const key = assignmentPrefix + subject;
      if (profile === null) {
        if ((await register.read(owner, key)) === null) return "kept";
        return write(owner, key, "null");
      }
      if ((await store.profile(owner, profile)) === null) return "not_found";
      if (!(await hasRoom(owner, assignmentPrefix, key, maxAssignments))) return "too_many";
      return write(owner, key, JSON.stringify({ subject, profile }));
    },
  };
  return store;
}

function isBuiltIn(name: string): boolean {
  return builtIn.some((profile) => profile.name === name);
}

/** An unreadable row says nothing. */
function decode<T>(schema: z.ZodType<T>, { value }: RegisterRow): readonly T[] {
  try {
    const parsed = schema.safeParse(JSON.parse(value));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}
