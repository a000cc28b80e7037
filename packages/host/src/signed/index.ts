export { signedHeaders } from "./sign.ts";
export { type SignedRequest, verifySigned } from "./verify.ts";
