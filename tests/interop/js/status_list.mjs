// The Status List Token of a shard, read by an independent implementation of the IETF draft: jose checks the signature under the leaf
// of the head, @sd-jwt/jwt-status-list inflates and unpacks the list.
//
// Called with a head and tokens; prints a line of JSON for each token.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list';
import { jwtVerify } from 'jose';

const [head, ...tokens] = process.argv.slice(2);
const signed = JSON.parse(readFileSync(head, 'utf8'));
const key = new X509Certificate(Buffer.from(signed.signatures[0].header.x5c[0], 'base64')).publicKey;
for (const file of tokens) {
  const token = readFileSync(file, 'utf8');
  const { payload } = await jwtVerify(token, key, { typ: 'statuslist+jwt' });
  const list = getListFromStatusListJWT(token);
  const statuses = Array.from({ length: list.statusList.length }, (_, index) => list.getStatus(index));
  console.log(JSON.stringify({ sub: payload.sub, exp: payload.exp, ttl: payload.ttl, bits: list.getBitsPerStatus(), statuses }));
}
