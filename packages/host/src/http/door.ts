import { type Attempts, createAttempts, type Doorkeeper, type Passwords } from "../auth/index.ts";
import { type ClientAddress, readClientAddress } from "./client-address.ts";
import type { Strangers } from "./strangers.ts";

export interface DoorParts {
  readonly doorkeeper: Doorkeeper;
  readonly passwords?: Passwords;
  /** `guessable`: a person chose a short one. Trying many against a long one leads nowhere, and slows nobody down. */
  readonly token?: "strong" | "guessable";
  readonly attempts?: Attempts;
  readonly strangers?: Strangers;
  /** Addresses whose word about who asks is believed. */
  readonly proxies?: readonly string[];
}

/** Everything that decides who comes in, and how often they may try. */
export interface Door {
  readonly doorkeeper: Doorkeeper;
  readonly passwords: Passwords | undefined;
  readonly token: "strong" | "guessable";
  readonly attempts: Attempts;
  readonly strangers: Strangers | undefined;
  readonly addressOf: ClientAddress;
}

export function openDoor(parts: DoorParts): Door {
  return {
    doorkeeper: parts.doorkeeper,
    passwords: parts.passwords,
    token: parts.token ?? "strong",
    attempts: parts.attempts ?? createAttempts(),
    strangers: parts.strangers,
    addressOf: readClientAddress(parts.proxies ?? []),
  };
}
