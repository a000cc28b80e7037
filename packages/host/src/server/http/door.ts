import { type AttemptThrottle, createAttemptThrottle } from "../auth/attempt-throttle.ts";
import { type Authenticator } from "../auth/doorkeeper.ts";
import { type PasswordFile } from "../auth/password.ts";
import { type ClientAddress, readClientAddress } from "./client-address.ts";
import type { AnonymousConnections } from "./anonymous-clients.ts";
import { createBodyBudget, type BodyBudget } from "./waiting-room.ts";

export interface AccessControlDeps {
  readonly authenticator: Authenticator;
  readonly passwords?: PasswordFile;
  /** `guessable`: a person chose a short one. Trying many against a long one leads nowhere, and slows nobody down. */
  readonly tokenStrength?: "strong" | "guessable";
  readonly attempts?: AttemptThrottle;
  readonly anonymousConnections?: AnonymousConnections;
  readonly bodyBudget?: BodyBudget;
  /** Addresses whose word about who asks is believed. */
  readonly proxies?: readonly string[];
}

/** Everything that decides who comes in, and how often they may try. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly passwords: PasswordFile | undefined;
  readonly tokenStrength: "strong" | "guessable";
  readonly attempts: AttemptThrottle;
  readonly anonymousConnections: AnonymousConnections | undefined;
  readonly bodyBudget: BodyBudget;
  readonly addressOf: ClientAddress;
}

export function createAccessControl(parts: AccessControlDeps): AccessControl {
  return {
    authenticator: parts.authenticator,
    passwords: parts.passwords,
    tokenStrength: parts.tokenStrength ?? "strong",
    attempts: parts.attempts ?? createAttemptThrottle(),
    anonymousConnections: parts.anonymousConnections,
    bodyBudget: parts.bodyBudget ?? createBodyBudget(),
    addressOf: readClientAddress(parts.proxies ?? []),
  };
}
