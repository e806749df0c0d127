from django.db import migrations, models

from gatewall.database.online_index import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False  # built beside its use

    dependencies = [
        ('audit', '0005_would_refuse_columns'),
    ]

    operations = [
        AddIndexOnline(
            model_name='accesslog',
            index=models.Index(condition=models.Q(('would_refuse__isnull', False)), fields=['at', 'decision_id'], name='access_log_by_would_refuse'),
        ),
    ]
