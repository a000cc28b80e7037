import type { Socket } from "node:net";
import { isLoopback, clientNetwork } from "../../util/ip-networks.ts";

/** Connections on which nobody has shown who they are. They have a budget; those of people who have signed in do not. */
export interface AnonymousConnections {
  add(socket: Socket): void;
  markAuthenticated(socket: Socket): void;
  readonly count: number;
}

export interface ConnectionBudget {
  readonly total: number;
  readonly perAddress: number;
}

const defaultBudget: ConnectionBudget = { total: 512, perAddress: 64 };

/**
 * Past the budget the oldest stranger goes, so that whoever holds connections open keeps nobody else out. This machine
 * itself, which may be a proxy for many, has no share of its own.
 */
export function createAnonymousConnections(
  budget: ConnectionBudget = defaultBudget,
): AnonymousConnections {
  const waiting = new Set<Socket>();

  /** Its end is heard of later; those who come until then are not to find it here. */
  function turnAway(socket: Socket | undefined): void {
    if (socket === undefined) return;
    waiting.delete(socket);
    socket.destroy();
  }

  return {
    get count() {
      return waiting.size;
    },
    add(socket) {
      waiting.add(socket);
      socket.once("close", () => waiting.delete(socket));
      const address = socket.remoteAddress ?? "";
      const neighbours = isLoopback(address.replace(/^::ffff:/i, ""))
        ? []
        : [...waiting].filter(
            (each) => clientNetwork(each.remoteAddress ?? "") === clientNetwork(address),
          );
      if (neighbours.length > budget.perAddress) turnAway(neighbours[0]);
      const [oldest] = waiting;
      if (waiting.size > budget.total) turnAway(oldest);
    },
    markAuthenticated: (socket) => void waiting.delete(socket),
  };
}

/** Where bytes of strangers are kept until somebody has looked at whose they are. It has so much room and no more. */
export interface BodyBudget {
  /** Whether this much more would find room now. Nothing is kept for it: a promise to send costs nobody anything. */
  hasCapacity(address: string, bytes: number): boolean;
  reserve(address: string): BodyReservation;
}

/** One request's share. */
export interface BodyReservation {
  /** Takes this much more, or says that there is no room for it; for one who has left there is none. */
  take(bytes: number): boolean;
  release(): void;
}

/** In bytes. */
export interface BodyBudgetLimits {
  readonly total: number;
  readonly perAddress: number;
  /** So much of each request counts for nothing: whoever fills the room keeps nobody from signing in. */
  readonly freePerRequest: number;
}

const mebibyte = 1024 * 1024;
const defaultLimits: BodyBudgetLimits = {
  total: 16 * mebibyte,
  perAddress: 4 * mebibyte,
  freePerRequest: 8 * 1024,
};

/**
 * What counts are bytes that have come, not those that were announced: holding room costs whoever holds it as much as us. This
 * machine itself, which may be a proxy for many, has no share of its own.
 */
export function createBodyBudget({
  total: inAll,
  perAddress,
  freePerRequest: free,
}: BodyBudgetLimits = defaultLimits): BodyBudget {
  const held = new Map<string, number>();
  let sum = 0;

  function fits(address: string, bytes: number): boolean {
    if (sum + bytes > inAll) return false;
    return isLoopback(address) || (held.get(address) ?? 0) + bytes <= perAddress;
  }

  function change(address: string, bytes: number): void {
    sum += bytes;
    const now = (held.get(address) ?? 0) + bytes;
    if (now > 0) held.set(address, now);
    else held.delete(address);
  }

  return {
    hasCapacity: (address, bytes) => bytes <= free || fits(budgetKey(address), bytes - free),
    reserve(from) {
      const address = budgetKey(from);
      let isHere = true;
      let size = 0;
      let counted = 0;
      return {
        take(bytes) {
          // What is still read of a request that was answered would never be given back.
          if (!isHere) return false;
          size += bytes;
          const more = Math.max(0, size - free) - counted;
          if (more > 0 && !fits(address, more)) return false;
          counted += more;
          change(address, more);
          return true;
        },
        release() {
          isHere = false;
          change(address, -counted);
          counted = 0;
        },
      };
    },
  };
}

function budgetKey(address: string): string {
  return isLoopback(address) ? address : clientNetwork(address);
}
