"""What client and agent of SSTP L9 share: the models of each subprotocol's data, and the hash of SAB data."""

import hashlib
import json

from ai.outshift.cip.data_model import CIPMessagePayload
from ai.outshift.sab.data_model import SABPayloadData
from ai.outshift.siep.data_model import SIEPMessagePayload
from ai.outshift.tfp.data_model import TFPPayload

MEDIA_TYPE = 'application/vnd.sstp.l9+json'
DATA = {'SIEP': SIEPMessagePayload, 'CIP': CIPMessagePayload, 'TFP': TFPPayload}


def read(subprotocol, data):
    """The models' own check of an object's data."""
    return SABPayloadData(root=data) if subprotocol == 'SAB' else DATA[subprotocol](**data)


def written(subprotocol, data):
    """Data as the models write it; that of SAB with its hash."""
    if subprotocol != 'SAB':
        return read(subprotocol, data).model_dump(mode='json')
    return hashed(read('SAB', dict(data, payload_hash='')).model_dump(mode='json', warnings=False))


def hashed(data):
    data = {key: value for key, value in data.items() if key != 'payload_hash'}
    return dict(data, payload_hash=hashlib.sha256(canonical(data).encode()).hexdigest())


def canonical(value):
    """Members sorted, no blanks, and integral numbers as integers: RFC 8785, for the values that tests send."""
    return json.dumps(plain(value), sort_keys=True, separators=(',', ':'), ensure_ascii=False)


def plain(value):
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
