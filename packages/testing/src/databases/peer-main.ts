// Runs in its own process or thread, for tests that need more than one.
import { servePeer } from "../contracts/serve-peer.ts";
import { identity } from "./host-parts.ts";
import { openStoreAt, type PeerAddress } from "./store-address.ts";

servePeer<PeerAddress>({
  openStore: ({ address, ...options }) => openStoreAt(address, options),
  identity,
});
