import { expect, test } from "vitest";
import { verifySignature } from "./verify-signature.ts";

/** The examples in Amazon's description of Signature Version 4 for S3, with the signatures that it prints. */
const keys = {
  keyId: "AKIAIOSFODNN7EXAMPLE",
  secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
};
const now = Date.UTC(2013, 4, 24);
const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const common = {
  host: "examplebucket.s3.amazonaws.com",
  "x-amz-date": "20130524T000000Z",
  "x-amz-content-sha256": empty,
};

function authorization(signedHeaders: string, signature: string): string {
  return `AWS4-HMAC-SHA256 Credential=${keys.keyId}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${signedHeaders},Signature=${signature}`;
}

const examples = [
  {
    method: "GET",
    url: "/test.txt",
    headers: {
      ...common,
      range: "bytes=0-9",
      authorization: authorization(
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
      ),
    },
  },
  {
    method: "GET",
    url: "/?max-keys=2&prefix=J",
    headers: {
      ...common,
      authorization: authorization(
        "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
      ),
    },
  },
  {
    method: "PUT",
    url: "/test%24file.text",
    headers: {
      ...common,
      date: "Fri, 24 May 2013 00:00:00 GMT",
      "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
      authorization: authorization(
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
      ),
    },
  },
];

test.each(examples)("the published signature of $method $url is accepted", (example) => {
  expect(verifySignature(example, keys, now)).toBeUndefined();
});

test.each(examples)("any change of $method $url is refused", (example) => {
  const refused = (changed: Partial<(typeof examples)[number]>, keysToo = keys, at = now) =>
    verifySignature({ ...example, ...changed }, keysToo, at)?.code;
  expect(refused({ method: "DELETE" })).toBe("SignatureDoesNotMatch");
  expect(refused({ url: "/other.txt" })).toBe("SignatureDoesNotMatch");
  expect(refused({ headers: { ...example.headers, host: "other.example.org" } })).toBe(
    "SignatureDoesNotMatch",
  );
  expect(refused({}, { ...keys, secretKey: "another" })).toBe("SignatureDoesNotMatch");
  expect(refused({}, { ...keys, keyId: "another" })).toBe("InvalidAccessKeyId");
  expect(refused({}, { ...keys, region: "eu-north-1" })).toBe("AuthorizationHeaderMalformed");
  expect(refused({}, keys, now + 16 * 60_000)).toBe("RequestTimeTooSkewed");
});
