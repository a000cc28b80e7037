import type { Socket } from "node:net";
import { isLoopback, clientNetwork } from "../../util/ip-networks.ts";

/** Unauthenticated connections have a budget; authenticated ones do not. */
export interface AnonymousConnections {
  add(socket: Socket): void;
  /** Sockets that count towards the budget. Authentication removes one. */
  readonly sockets: Set<Socket>;
}

export interface ConnectionBudget {
  readonly total: number;
  readonly perAddress: number;
}

const defaultBudget: ConnectionBudget = { total: 512, perAddress: 64 };

/**
 * Over budget, the oldest anonymous connection is closed, so that clients holding connections open keep nobody else
 * out. Loopback, which may be a proxy for many clients, has no limit per address.
 */
export function createAnonymousConnections(
  budget: ConnectionBudget = defaultBudget,
): AnonymousConnections {
  const sockets = new Set<Socket>();

  /** Removed at once: the close event comes later, and new connections until then must not count it. */
  function evict(socket: Socket | undefined): void {
    if (socket === undefined) return;
    sockets.delete(socket);
    socket.destroy();
  }

  return {
    sockets,
    add(socket) {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      const address = socket.remoteAddress ?? "";
      const sameNetwork = isLoopback(address.replace(/^::ffff:/i, ""))
        ? []
        : [...sockets].filter(
            (other) => clientNetwork(other.remoteAddress ?? "") === clientNetwork(address),
          );
      if (sameNetwork.length > budget.perAddress) evict(sameNetwork[0]);
      const [oldest] = sockets;
      if (sockets.size > budget.total) evict(oldest);
    },
  };
}

/** Memory for the bodies of requests that are not authenticated yet. */
export interface BodyBudget {
  /** Whether this many more bytes would fit now. Reserves nothing: announcing a body costs its sender nothing. */
  hasCapacity(address: string, bytes: number): boolean;
  reserve(address: string): BodyReservation;
}

/** One request's share. */
export interface BodyReservation {
  /** Reserves more bytes, or returns false if they do not fit or the request has been released. */
  take(bytes: number): boolean;
  release(): void;
}

/** In bytes. */
export interface BodyBudgetLimits {
  readonly total: number;
  readonly perAddress: number;
  /** Not counted, so that a full budget keeps nobody from signing in. */
  readonly freePerRequest: number;
}

const mebibyte = 1024 * 1024;
const defaultLimits: BodyBudgetLimits = {
  total: 16 * mebibyte,
  perAddress: 4 * mebibyte,
  freePerRequest: 8 * 1024,
};

/**
 * Counts received bytes rather than announced ones, so that holding the budget costs the sender as much. Loopback,
 * which may be a proxy for many clients, has no limit per address.
 */
export function createBodyBudget({
  total: totalBytes,
  perAddress,
  freePerRequest: freeBytes,
}: BodyBudgetLimits = defaultLimits): BodyBudget {
  const usage = new Map<string, number>();
  let usedBytes = 0;

  function fits(address: string, bytes: number): boolean {
    if (usedBytes + bytes > totalBytes) return false;
    return isLoopback(address) || (usage.get(address) ?? 0) + bytes <= perAddress;
  }

  function addUsage(address: string, bytes: number): void {
    usedBytes += bytes;
    const used = (usage.get(address) ?? 0) + bytes;
    if (used > 0) usage.set(address, used);
    else usage.delete(address);
  }

  return {
    hasCapacity: (address, bytes) =>
      bytes <= freeBytes || fits(budgetKey(address), bytes - freeBytes),
    reserve(from) {
      const address = budgetKey(from);
      let isActive = true;
      let size = 0;
      let counted = 0;
      return {
        take(bytes) {
          // Bytes reserved after the release would never be returned.
          if (!isActive) return false;
          size += bytes;
          const extra = Math.max(0, size - freeBytes) - counted;
          if (extra > 0 && !fits(address, extra)) return false;
          counted += extra;
          addUsage(address, extra);
          return true;
        },
        release() {
          isActive = false;
          addUsage(address, -counted);
          counted = 0;
        },
      };
    },
  };
}

function budgetKey(address: string): string {
  return isLoopback(address) ? address : clientNetwork(address);
}
