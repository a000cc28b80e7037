import { type Attempts, createAttempts } from "../auth/attempt-throttle.ts";
import { type Doorkeeper } from "../auth/doorkeeper.ts";
import { type Passwords } from "../auth/password.ts";
import { type ClientAddress, readClientAddress } from "./client-address.ts";
import type { Strangers } from "./anonymous-clients.ts";
import { openWaitingRoom, type WaitingRoom } from "./waiting-room.ts";

export interface DoorParts {
  readonly doorkeeper: Doorkeeper;
  readonly passwords?: Passwords;
  /** `guessable`: a person chose a short one. Trying many against a long one leads nowhere, and slows nobody down. */
  readonly token?: "strong" | "guessable";
  readonly attempts?: Attempts;
  readonly strangers?: Strangers;
  readonly waitingRoom?: WaitingRoom;
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
  readonly waitingRoom: WaitingRoom;
  readonly addressOf: ClientAddress;
}

export function openDoor(parts: DoorParts): Door {
  return {
    doorkeeper: parts.doorkeeper,
    passwords: parts.passwords,
    token: parts.token ?? "strong",
    attempts: parts.attempts ?? createAttempts(),
    strangers: parts.strangers,
    waitingRoom: parts.waitingRoom ?? openWaitingRoom(),
    addressOf: readClientAddress(parts.proxies ?? []),
  };
}
