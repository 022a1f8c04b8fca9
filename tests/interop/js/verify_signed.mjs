// jose, another JOSE library, verifies what the authority signed, by the recipe of docs/spec/signed-context.md.
//
// Called with the expected `typ` and files (general JWS JSON, `x5c` in the unprotected header); prints a line of JSON for each.
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { generalVerify } from 'jose';

const [typ, ...files] = process.argv.slice(2);
for (const file of files) {
  const signed = JSON.parse(readFileSync(file, 'utf8'));
  const der = Buffer.from(signed.signatures[0].header.x5c[0], 'base64');
  const key = new X509Certificate(der).publicKey;
  const { payload, protectedHeader } = await generalVerify(signed, key, { algorithms: ['ES256', 'Ed25519'] });
  const thumbprint = createHash('sha256').update(der).digest('base64url');
  if (protectedHeader.typ !== typ || protectedHeader['x5t#S256'] !== thumbprint) throw new Error('header');
  const altered = structuredClone(signed);
  altered.payload = (altered.payload[0] === 'e' ? 'f' : 'e') + altered.payload.slice(1);
  const taken = await generalVerify(altered, key).then(() => true, () => false);
  if (taken) throw new Error('an altered payload was taken');
  const digest = 'sha-256:' + createHash('sha256').update(payload).digest('hex');
  console.log(JSON.stringify({ digest, payload: JSON.parse(Buffer.from(payload).toString('utf8')) }));
}
